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
		if c := s.collections[name]; c != nil && !c.paused {
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
		page[i] = d.asRunnable(now)
	}
	return page, nil
}

// Scan implements [store.Store].
func (s *Store) Scan(ctx context.Context, collection, after string, parts store.Parts) iter.Seq2[store.Document, error] {
	return stream(s, ctx, collection, after, idPage, func(d *document) (store.Document, bool) {
		return d.snapshot(parts), true
	})
}

// Parked implements [store.Parking].
func (s *Store) Parked(ctx context.Context, collection string) iter.Seq2[store.Document, error] {
	return stream(s, ctx, collection, "", parkedPage, func(d *document) (store.Document, bool) {
		return d.snapshot(store.WithoutViews), d.parked()
	})
}

func idPage(c *collection, last string, page []*document) []*document {
	return c.ids.after(last, pageSize, page)
}

func parkedPage(c *collection, last string, page []*document) []*document {
	return c.parked.after(last, pageSize, page)
}

// stream returns what look makes of documents of a collection, and does not
// leave out. next puts the first documents beyond an id into page; both are
// called with the lock held.
func stream[T any](
	s *Store, ctx context.Context, name, after string,
	next func(c *collection, last string, page []*document) []*document, look func(*document) (T, bool),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		var page []*document
		for last := after; ; last = page[len(page)-1].key.ID {
			page = page[:0]
			s.mu.Lock()
			err := s.readableLocked(ctx)
			if c := s.collections[name]; err == nil && c != nil {
				page = next(c, last, page)
			}
			s.mu.Unlock()
			if err != nil {
				yield(none, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, d := range page {
				s.mu.Lock()
				err := s.readableLocked(ctx)
				seen, wanted := none, false
				if s.documentLocked(d.key) == d { // it may have been removed
					seen, wanted = look(d)
				}
				s.mu.Unlock()
				if err != nil {
					yield(none, err)
					return
				}
				if wanted && !yield(seen, nil) {
					return
				}
			}
		}
	}
}
