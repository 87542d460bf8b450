package sqlite

import (
	"context"
	"database/sql/driver"
	"iter"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// Runnable implements [store.Store]. It reads each collection by an index of its
// own and merges them, so that the dirty documents of a collection that was not
// named cost nothing.
func (s *Store) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		names := slices.Clone(collections)
		slices.Sort(names)
		names = slices.Compact(names)
		sources := make([]*runnables, 0, len(names))
		for _, name := range names {
			sources = append(sources, &runnables{name: name})
		}
		for {
			var first *runnables
			for i := 0; i < len(sources); i++ {
				src := sources[i]
				if err := s.fill(ctx, src); err != nil {
					yield(store.Runnable{}, err)
					return
				}
				if len(src.page) == 0 {
					sources = slices.Delete(sources, i, i+1)
					i--
					continue
				}
				if first == nil || src.page[0].Since.Position < first.page[0].Since.Position {
					first = src
				}
			}
			if first == nil {
				return
			}
			r := first.page[0]
			first.page = first.page[1:]
			if !yield(r, nil) {
				return
			}
		}
	}
}

// runnables are the runnable documents of one collection, in order of since and, as
// documents may share one, of their rows.
type runnables struct {
	name string
	page []store.Runnable
	// after and document are the since and the row of the last one read.
	after, document int64
	end             bool
}

// fill reads a page if there is none.
func (s *Store) fill(ctx context.Context, src *runnables) error {
	if len(src.page) > 0 || src.end {
		return nil
	}
	src.page = src.page[:0]
	return s.read(ctx, func(c *conn) error {
		src.page = make([]store.Runnable, 0, pageRows)
		in, err := find(c, src.name)
		if err != nil || in.id == 0 || in.paused {
			src.end = true
			return err
		}
		now := time.Now()
		err = c.each(runnablePage, func(row []driver.Value) bool {
			src.after, src.document = integer(row[1]), integer(row[4])
			src.page = append(src.page, asRunnable(src.name, row, now))
			return true
		}, in.id, src.after, int64(pageRows), int64(0), src.document)
		src.end = len(src.page) < pageRows
		return err
	})
}

// asRunnable reads a row of runnablePage.
func asRunnable(collection string, row []driver.Value, now time.Time) store.Runnable {
	return store.Runnable{
		Key:   store.Key{Collection: collection, ID: text(row[0])},
		Since: store.Since{Position: store.Position(integer(row[1])), Time: moment(row[2])},
		Wait:  store.WaitLeft(moment(row[3]), now),
		Lease: leaseOf(row[5:], now),
	}
}
