package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// Commit implements [store.Store].
func (s *Store) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	if err := store.CheckCommits(commits); err != nil {
		return nil, err
	}
	outcomes, err := s.commit(ctx, commits)
	if err == nil {
		s.listeners.Committed(commits, outcomes)
	}
	return outcomes, err
}

func (s *Store) commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return nil, err
	}
	for i := range commits {
		c := &commits[i]
		if head := s.documentLocked(c.Key).head(); c.Applied > head {
			return nil, &store.InvalidError{
				Field: "commit of " + c.Key.String(),
				Got:   fmt.Sprintf("applied %d", c.Applied),
				Want:  fmt.Sprintf("at most the head, %d", head),
			}
		}
	}
	now := time.Now()
	outcomes := make([]store.Outcome, len(commits))
	for i := range commits {
		outcomes[i] = s.commitLocked(&commits[i], now)
	}
	return outcomes, nil
}

// commitLocked stores one result, unless its guard does not hold.
func (s *Store) commitLocked(c *store.Commit, now time.Time) store.Outcome {
	d := s.documentLocked(c.Key)
	if d == nil || d.parked() || d.applied != c.Loaded || c.Epoch != 0 {
		return store.Stale
	}
	runnable := &s.collections[c.Key.Collection].runnable
	runnable.remove(d.since().Position)
	if c.Applied > c.Loaded {
		d.setView(c.View, c.Applied)
	}
	d.failure, d.notBefore = nil, time.Time{}
	if f := c.Failure; f != nil {
		d.failure = &store.Failure{
			Seq: f.Seq, Attempts: f.Attempts, Error: clip(f.Error), Stack: clip(f.Stack), Park: f.Park,
		}
		if f.Delay > 0 {
			d.notBefore = now.Add(f.Delay)
		}
	}
	if d.runnable() {
		runnable.insert(d.since().Position, d)
	}
	if d.dirty() {
		return store.StillDirty
	}
	return store.Done
}

// Resume implements [store.Parking]. A resumed document keeps the record of what
// went wrong, with no attempts.
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
		d := s.documentLocked(k)
		if d == nil || !d.parked() {
			continue
		}
		failure := *d.failure
		failure.Park, failure.Attempts = false, 0
		d.failure, d.notBefore = &failure, time.Time{}
		if d.runnable() {
			s.collections[k.Collection].runnable.insert(d.since().Position, d)
		}
		resumed = append(resumed, k)
	}
	return resumed, nil
}
