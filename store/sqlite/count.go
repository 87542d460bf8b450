package sqlite

import (
	"context"
	"time"

	"github.com/refold-go/refold/store"
)

// Count implements [store.Censor]. It reads one index, not the documents.
func (s *Store) Count(ctx context.Context, collection string) (store.Counts, error) {
	var n store.Counts
	err := s.read(ctx, func(c *conn) error {
		n = store.Counts{}
		generation, err := generation(c, collection)
		if err != nil || generation == 0 {
			return err
		}
		now := time.Now().UnixNano()
		row, err := c.one(countDirty, generation, now)
		if err != nil {
			return err
		}
		n.Dirty, n.Waiting = integer(row[0]), integer(row[1])
		if row, err = c.one(countParked, generation); err != nil {
			return err
		}
		n.Parked = integer(row[0])
		for parked, oldest := range []*store.Runnable{&n.Oldest, &n.OldestParked} {
			row, err := c.one(runnablePage, generation, int64(0), int64(1), int64(parked))
			if err != nil {
				return err
			}
			if row != nil {
				*oldest = asRunnable(collection, row, now)
			}
		}
		return nil
	})
	return n, err
}
