package memory

import (
	"context"
	"time"

	"github.com/refold-go/refold/store"
)

// Count implements [store.Censor].
func (s *Store) Count(ctx context.Context, collection string) (store.Counts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return store.Counts{}, err
	}
	var n store.Counts
	_, c := s.generationLocked(collection)
	if c == nil {
		return n, nil
	}
	now := time.Now()
	c.runnable.all(func(d *document) {
		r := d.asRunnable(collection, now)
		if n.Dirty == 0 {
			n.Oldest = r
		}
		n.Dirty++
		if r.Wait > 0 {
			n.Waiting++
		}
	})
	c.parked.all(func(d *document) {
		n.Parked++
		since := d.since().Position
		if since > 0 && (n.OldestParked.Key.ID == "" || since < n.OldestParked.Since.Position) {
			n.OldestParked = d.asRunnable(collection, now)
		}
	})
	return n, nil
}
