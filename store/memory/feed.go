package memory

import (
	"context"
	"iter"

	"github.com/refold-go/refold/store"
)

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
		var change store.Change
		g.snapshot(&change.Document, d, name, parts)
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
