package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// pageSize is how many documents a stream looks up at a time.
const pageSize = 128

// Runnable implements [store.Store]. A loop that ends early costs what it read,
// rounded up to a page.
func (s *Store) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	collections = slices.Compact(slices.Sorted(slices.Values(collections)))
	return func(yield func(store.Runnable, error) bool) {
		var last store.Position
		for {
			page, err := s.runnablePage(ctx, collections, last)
			if err != nil {
				yield(store.Runnable{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
			last = page[len(page)-1].Since.Position
		}
	}
}

// runnablePage returns the first runnable documents beyond a position.
func (s *Store) runnablePage(ctx context.Context, collections []string, last store.Position) ([]store.Runnable, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	var documents []*document
	for _, name := range collections {
		if c := s.collections[name]; c != nil {
			documents = c.runnable.after(last, pageSize, documents)
		}
	}
	slices.SortFunc(documents, func(a, b *document) int {
		return cmp.Compare(a.since().Position, b.since().Position)
	})
	documents = documents[:min(len(documents), pageSize)]
	page := make([]store.Runnable, len(documents))
	now := time.Now()
	for i, d := range documents {
		page[i] = store.Runnable{Key: d.key, Since: d.since()}
		if !d.notBefore.IsZero() {
			page[i].Wait = max(d.notBefore.Sub(now), 0)
		}
	}
	return page, nil
}

// Scan implements [store.Store].
func (s *Store) Scan(ctx context.Context, collection, after string, parts store.Parts) iter.Seq2[store.Document, error] {
	return s.scan(ctx, collection, after, func(d *document) (store.Document, bool) {
		return d.snapshot(parts), true
	})
}

// Parked implements [store.Parking]. It looks at all documents of the
// collection.
func (s *Store) Parked(ctx context.Context, collection string) iter.Seq2[store.Document, error] {
	return s.scan(ctx, collection, "", func(d *document) (store.Document, bool) {
		if !d.parked() {
			return store.Document{}, false
		}
		return d.snapshot(store.WithoutViews), true
	})
}

// scan returns what look, called with the lock held, makes of the documents of
// a collection and does not leave out.
func (s *Store) scan(ctx context.Context, collection, after string, look func(*document) (store.Document, bool)) iter.Seq2[store.Document, error] {
	return func(yield func(store.Document, error) bool) {
		var page []*document
		for last := after; ; last = page[len(page)-1].key.ID {
			var err error
			if page, err = s.scanPage(ctx, collection, last, page[:0]); err != nil {
				yield(store.Document{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, d := range page {
				s.mu.Lock()
				err := s.readableLocked(ctx)
				copied, wanted := look(d)
				s.mu.Unlock()
				if err != nil {
					yield(store.Document{}, err)
					return
				}
				if wanted && !yield(copied, nil) {
					return
				}
			}
		}
	}
}

// scanPage puts the first documents beyond an id into page.
func (s *Store) scanPage(ctx context.Context, collection, last string, page []*document) ([]*document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	if c := s.collections[collection]; c != nil {
		page = c.ids.after(last, pageSize, page)
	}
	return page, nil
}
