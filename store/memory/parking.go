package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// Resume implements [store.Parking].
func (s *Store) Resume(ctx context.Context, keys []store.Key) (int, error) {
	resumed, err := s.resume(ctx, keys)
	s.listeners.Dirty(resumed)
	return len(resumed), err
}

func (s *Store) resume(ctx context.Context, keys []store.Key) (resumed []store.Key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return nil, err
	}
	for _, k := range keys {
		if g, d := s.namedLocked(k); d != nil && d.parked() {
			g.resumeLocked(d)
			resumed = append(resumed, g.announced(k))
		}
	}
	return resumed, nil
}

// resumeLocked makes a parked document runnable. It keeps the record of what
// went wrong, with no attempts.
func (c *generation) resumeLocked(d *document) {
	c.leaveLocked(d)
	failure := *d.failure
	failure.Park, failure.Attempts = false, 0
	d.failure, d.notBefore = &failure, time.Time{}
	c.enterLocked(d)
}

// Discard implements [store.Parking].
func (s *Store) Discard(ctx context.Context, discard store.Discard) error {
	if err := store.CheckDiscard(&discard); err != nil {
		return err
	}
	if err := store.CheckBare(discard.Key.Collection); err != nil {
		return err
	}
	dirty, err := s.discard(ctx, discard)
	s.listeners.Dirty(dirty)
	return err
}

func (s *Store) discard(ctx context.Context, discard store.Discard) (dirty []store.Key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return nil, err
	}
	if err := s.notDerivedLocked("discard", discard.Key); err != nil {
		return nil, err
	}
	d := s.documentLocked(discard.Key)
	if discard.Seq < 1 || discard.Seq > d.head() {
		return nil, fmt.Errorf("%w: operation %d of %s", store.ErrNotFound, discard.Seq, discard.Key)
	}
	op := d.operations[discard.Seq-1]
	switch {
	case op.Discarded:
		return nil, nil
	case discard.Seq <= d.applied:
		return nil, &store.InvalidError{
			Field: "discard of " + discard.Key.String(),
			Got:   fmt.Sprintf("operation %d", discard.Seq),
			Want:  fmt.Sprintf("one that the view lacks, above %d", d.applied),
		}
	}
	op.Discarded = true
	discard.At = time.Now().UTC().Round(0)
	i, _ := slices.BinarySearchFunc(d.discards, discard.Seq, func(o store.Discard, seq int64) int {
		return cmp.Compare(o.Seq, seq)
	})
	d.discards = slices.Insert(d.discards, i, discard)
	c := s.collections[discard.Key.Collection]
	for _, g := range c.living() {
		if d := g.documents[discard.Key.ID]; d != nil && s.discardLocked(g, d, discard.Seq) {
			k := store.Key{Collection: store.CollectionName{Name: d.key.Collection, Version: g.version}.String(), ID: d.key.ID}
			dirty = append(dirty, g.announced(k))
		}
	}
	return dirty, nil
}

// discardLocked makes the runs in hand of one generation stale, which get an epoch of
// their own, and takes the lease away. It resumes the document if it is parked at the operation, and removes a
// view that contains it; it reports whether it did either.
func (s *Store) discardLocked(g *generation, d *document, seq int64) bool {
	s.changes++
	d.epoch, d.lease = s.changes, lease{}
	if d.applied < seq {
		at := d.parked() && d.failure.Seq == seq
		if at {
			g.resumeLocked(d)
		}
		return at
	}
	g.leaveLocked(d)
	g.changed.remove(number(d.changed))
	*d = document{content: d.content, epoch: d.epoch}
	g.enterLocked(d)
	return true
}

// Discards implements [store.Parking]. It looks at all documents of the
// collection.
func (s *Store) Discards(ctx context.Context, name string) iter.Seq2[store.Discard, error] {
	if store.CheckBare(name) != nil {
		name = "" // there is no such collection
	}
	return func(yield func(store.Discard, error) bool) {
		documents := stream(s, ctx, name, "", idPage, func(_ *generation, d *document) ([]store.Discard, bool) {
			return slices.Clone(d.discards), len(d.discards) > 0
		})
		for discards, err := range documents {
			if err != nil {
				yield(store.Discard{}, err)
				return
			}
			for _, discard := range discards {
				if !yield(discard, nil) {
					return
				}
			}
		}
	}
}
