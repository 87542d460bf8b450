package memory

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	if err := store.CheckAppends(appends, s.maxBody); err != nil {
		return store.Appended{}, err
	}
	result, at, err := s.append(ctx, appends)
	if err == nil {
		s.listeners.Appended(appends, result, at)
	}
	return result, err
}

func (s *Store) append(ctx context.Context, appends []store.Append) (result store.Appended, at time.Time, err error) {
	result = store.NewAppended(appends)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return store.Appended{}, at, err
	}

	// Everything is placed before anything is stored, so that a refusal has
	// nothing to undo.
	var few [8]target
	targets := few[:0]
	for i := range appends {
		k := appends[i].Key
		t := target{of: s.collections[k.Collection]}
		if t.of != nil {
			if t.of.derived {
				return store.Appended{}, at, s.notDerivedLocked("append", k)
			}
			t.document = t.of.documents[k.ID]
		}
		targets = append(targets, t)
	}
	next := s.end + 1
	var covers store.Position
	for i := range appends {
		placed := result.Documents[i].Operations
		if err := s.placeLocked(&appends[i], targets[i].document, placed, &next); err != nil {
			return store.Appended{}, at, err
		}
		for _, p := range placed {
			covers = max(covers, p.Position)
		}
	}

	at = time.Now().UTC().Round(0)
	for i := range appends {
		d := s.storeLocked(&appends[i], targets[i], result.Documents[i].Operations, at)
		result.Documents[i].Head = d.head()
		result.Documents[i].Parked = d.parked()
	}
	s.end = next - 1
	result.Token = store.NewToken(s.incarnation, covers)
	return result, at, nil
}

// target is what an append finds of a document; nil is what is not there yet.
type target struct {
	of       *collection
	document *document // of what is served
}

// placeLocked says in placed where the entries of one document go, which may be nil,
// taking positions from next on, or returns why they may not.
func (s *Store) placeLocked(a *store.Append, d *document, placed []store.Placed, next *store.Position) error {
	if d == nil && s.forgottenLocked(a.Key) {
		return fmt.Errorf("%w: %s", store.ErrForgotten, a.Key)
	}
	head := d.head()
	var given map[string]int // the first entry of this call with an id
	for i := range a.Entries {
		e := &a.Entries[i]
		if e.ID != "" {
			if old := d.withID(e.ID); old != nil {
				if !sameOperation(&old.Entry, e) {
					return &store.IDReusedError{Key: a.Key, ID: e.ID, Seq: old.Seq}
				}
				placed[i] = store.Placed{Seq: old.Seq, Position: old.Position, Duplicate: true}
				continue
			}
			if first, twice := given[e.ID]; twice {
				if !sameOperation(&a.Entries[first], e) {
					return &store.IDReusedError{Key: a.Key, ID: e.ID}
				}
				placed[i] = placed[first]
				placed[i].Duplicate = true
				continue
			}
			if given == nil {
				given = make(map[string]int)
			}
			given[e.ID] = i
		}
		head++
		placed[i] = store.Placed{Seq: head, Position: *next}
		*next++
	}
	if a.Head != nil && *a.Head != d.head() && head > d.head() {
		return &store.ConflictError{Key: a.Key, Expected: *a.Head, Actual: d.head()}
	}
	return nil
}

// storeLocked adds the entries that are new, and returns their document.
func (s *Store) storeLocked(a *store.Append, t target, placed []store.Placed, now time.Time) *document {
	c, d := t.of, t.document
	if d == nil {
		c = s.collectionLocked(a.Key.Collection)
		one := &content{key: a.Key, index: len(c.contents)}
		c.contents = append(c.contents, one)
		for _, g := range c.generations() {
			if g != nil {
				g.add(one)
			}
		}
		d = c.documents[a.Key.ID]
	}
	// One that is being built may not have it yet: Fill makes it, dirty.
	var clean [generationsMost]*document
	for i, g := range c.generations() {
		in := d
		if i > 0 {
			in = g.documentOf(a.Key.ID)
		}
		if in != nil && !in.dirty() {
			clean[i] = in
		}
	}
	for i, p := range placed {
		if p.Duplicate {
			continue
		}
		op := s.log.add(p.Position)
		op.Operation = store.Operation{Seq: p.Seq, Position: p.Position, History: a.History, Entry: a.Entries[i]}
		op.Meta, op.Body = s.log.keep(op.Meta), s.log.keep(op.Body)
		op.of, op.appended = d.content, now.UnixNano()
		op.Time = op.Time.UTC()
		if op.Time.IsZero() {
			op.Time = now
		}
		d.operations = append(d.operations, op)
		if op.ID != "" {
			if d.ids == nil {
				d.ids = make(map[string]int64)
			}
			d.ids[op.ID] = op.Seq
		}
	}
	for i, g := range c.generations() {
		if in := clean[i]; in != nil && !in.parked() {
			g.enterLocked(in)
		}
	}
	return d
}

// withID returns the operation that has an id, or nil. The document may be nil.
func (d *document) withID(id string) *operation {
	if d == nil {
		return nil
	}
	if seq := d.ids[id]; seq > 0 {
		return d.operations[seq-1]
	}
	return nil
}

func sameOperation(a, b *store.Entry) bool {
	return a.Kind == b.Kind && bytes.Equal(a.Body, b.Body)
}

// cloneEntry returns an entry that shares no memory that can change.
func cloneEntry(e store.Entry) store.Entry {
	e.Meta = bytes.Clone(e.Meta)
	e.Body = bytes.Clone(e.Body)
	return e
}
