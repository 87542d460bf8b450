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
		last := make(map[string]place, len(collections)) // of each collection
		var page []store.Runnable
		for {
			var err error
			page, err = s.runnablePage(ctx, collections, last, page[:0])
			if err != nil {
				yield(store.Runnable{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
			for _, r := range page {
				last[r.Key.Collection] = place{r.Since.Position, r.Key.ID}
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// runnablePage appends to page the first runnable documents beyond the last of each
// collection.
func (s *Store) runnablePage(ctx context.Context, collections []string, last map[string]place, page []store.Runnable) ([]store.Runnable, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	var few [pageSize]*document
	now := time.Now()
	for _, name := range collections {
		if in, c := s.generationLocked(name); c != nil && !in.heldBackLocked(c, now) {
			for _, d := range c.runnable.after(last[name], pageSize, few[:0]) {
				page = append(page, d.asRunnable(name, now))
			}
		}
	}
	slices.SortStableFunc(page, func(a, b store.Runnable) int {
		return cmp.Compare(a.Since.Position, b.Since.Position)
	})
	return page[:min(len(page), pageSize)], nil
}

// Scan implements [store.Store].
func (s *Store) Scan(ctx context.Context, name, after string, parts store.Parts) iter.Seq2[store.Document, error] {
	return stream(s, ctx, name, after, idPage, func(c *generation, d *document) (copied store.Document, _ bool) {
		c.snapshot(&copied, d, name, parts)
		return copied, true
	})
}

// Parked implements [store.Parking].
func (s *Store) Parked(ctx context.Context, name string) iter.Seq2[store.Document, error] {
	return stream(s, ctx, name, "", parkedPage, func(c *generation, d *document) (copied store.Document, _ bool) {
		c.snapshot(&copied, d, name, store.WithoutViews)
		return copied, d.parked()
	})
}

func idPage(c *generation, last string, page []*document) []*document {
	return c.ids.after(text(last), pageSize, page)
}

func parkedPage(c *generation, last string, page []*document) []*document {
	return c.parked.after(text(last), pageSize, page)
}

// stream returns what look makes of documents of a collection, and does not
// leave out. next puts the first documents beyond an id into page; both are
// called with the lock held.
func stream[T any](
	s *Store, ctx context.Context, name, after string,
	next func(c *generation, last string, page []*document) []*document, look func(*generation, *document) (T, bool),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		var page []*document
		for last := after; ; last = page[len(page)-1].key.ID {
			page = page[:0]
			s.mu.Lock()
			err := s.readableLocked(ctx)
			if _, c := s.generationLocked(name); err == nil && c != nil {
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
				if _, c := s.generationLocked(name); c != nil && c.documents[d.key.ID] != nil { // it may have been removed
					seen, wanted = look(c, c.documents[d.key.ID])
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
