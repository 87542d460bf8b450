package memory

import (
	"context"
	"iter"
	"sort"

	"github.com/refold-go/refold/store"
)

// logged is where an operation of the log is. Elements are in order of position.
type logged struct {
	document *content
	seq      int64
}

func (l *logged) operation() *store.Operation { return &l.document.operations[l.seq-1].Operation }

// unlogLocked takes the operations of documents that are removed out of the log.
func (s *Store) unlogLocked(gone func(*content) bool) {
	kept := make([]logged, 0, len(s.log))
	for _, l := range s.log {
		if !gone(l.document) {
			kept = append(kept, l)
		}
	}
	s.log = kept
}

// Log implements [store.Log].
func (s *Store) Log(ctx context.Context, from, to store.Token) iter.Seq2[store.Logged, error] {
	return func(yield func(store.Logged, error) bool) {
		last, end, err := s.bounds(from, to)
		for err == nil {
			var page []store.Logged
			if page, err = s.logPage(ctx, last, end); err != nil || len(page) == 0 {
				break
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}
			last = page[len(page)-1].Position
		}
		if err != nil {
			yield(store.Logged{}, err)
		}
	}
}

// bounds returns the positions of two tokens.
func (s *Store) bounds(from, to store.Token) (after, upTo store.Position, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, 0, store.ErrClosed
	}
	if after, err = store.CutOf(from, s.incarnation, s.end); err != nil {
		return 0, 0, err
	}
	if to.IsZero() {
		return after, s.end, nil
	}
	upTo, err = store.CutOf(to, s.incarnation, s.end)
	return after, upTo, err
}

// logPage returns the first operations after one position and up to another.
func (s *Store) logPage(ctx context.Context, after, upTo store.Position) ([]store.Logged, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	var page []store.Logged
	first := sort.Search(len(s.log), func(i int) bool { return s.log[i].operation().Position > after })
	for _, l := range s.log[first:] {
		op := *l.operation()
		if op.Position > upTo || len(page) == pageSize {
			break
		}
		op.Entry = cloneEntry(op.Entry)
		page = append(page, store.Logged{
			Key: l.document.key, Token: store.NewToken(s.incarnation, op.Position), Operation: op,
		})
	}
	return page, nil
}

// changeLocked gives a document the next number, after it has changed.
func (s *Store) changeLocked(c *generation, d *document, history bool) {
	c.changed.remove(number(d.changed))
	s.changes++
	d.changed = s.changes
	if !history {
		d.news = s.changes
	}
	c.changed.insert(number(d.changed), d)
}

// Changes implements [store.Feed].
func (s *Store) Changes(ctx context.Context, collection string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	return func(yield func(store.Change, error) bool) {
		f, err := s.beginChanges(after)
		for again := true; err == nil && again; {
			var page []store.Change
			if page, again, err = s.changesPage(ctx, collection, &f, parts); err != nil {
				break
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(store.Change{}, err)
		}
	}
}

// beginChanges begins behind a cursor.
func (s *Store) beginChanges(after store.Cursor) (store.Following, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.Following{}, store.ErrClosed
	}
	return store.Follow(after, s.incarnation, s.changes)
}

// changesPage returns the next changes, and reports whether there may be more.
func (s *Store) changesPage(ctx context.Context, name string, f *store.Following, parts store.Parts) (page []store.Change, again bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, false, err
	}
	c, g := s.generationLocked(name)
	if g == nil {
		return nil, false, nil
	}
	switched := int64(0)
	if s.collections[name] != nil {
		switched = c.switched
	}
	after, before := f.Next(switched)
	for _, d := range g.changed.after(number(after), pageSize, nil) {
		if d.changed >= before {
			break
		}
		change := store.Change{Document: g.snapshot(d, name, parts)}
		change.Cursor, change.History = f.Read(d.changed, d.news)
		page = append(page, change)
	}
	if len(page) == pageSize {
		return page, true, nil
	}
	return page, f.End(page), nil
}

// LastChange implements [store.Feed].
func (s *Store) LastChange(ctx context.Context) (store.Cursor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return store.Cursor{}, err
	}
	return store.NewCursor(s.incarnation, s.changes), nil
}
