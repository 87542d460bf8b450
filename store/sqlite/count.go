package sqlite

import (
	"context"
	"time"

	"github.com/refold-go/refold/store"
)

// maxWait is from when on [store.WaitLeft] takes a wait for over.
const maxWait = store.MaxDelay + time.Hour

// Count implements [store.Censor]. It reads one index, not the documents.
func (s *Store) Count(ctx context.Context, collection string) (store.Counts, error) {
	var n store.Counts
	err := s.read(ctx, func(c *conn) error {
		n = store.Counts{}
		in, err := find(c, collection)
		if err != nil || in.id == 0 {
			return err
		}
		now := time.Now()
		row, err := c.one(countDirty, in.id, now.UnixNano(), now.Add(maxWait).UnixNano())
		if err != nil {
			return err
		}
		n.Dirty, n.Waiting = integer(row[0]), integer(row[1])
		if row, err = c.one(countParked, in.id); err != nil {
			return err
		}
		n.Parked = integer(row[0])
		for parked, oldest := range []*store.Runnable{&n.Oldest, &n.OldestParked} {
			row, err := c.one(runnablePage, in.id, int64(0), int64(1), int64(parked), int64(0))
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
