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
	outcomes, announced, err := s.commit(ctx, commits)
	if err == nil {
		s.listeners.Committed(announced)
	}
	return outcomes, err
}

// commit also returns the documents that are announced, those of stale commits left out.
func (s *Store) commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, []store.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return nil, nil, err
	}
	for i := range commits {
		c := &commits[i]
		_, d := s.namedLocked(c.Key)
		if head := d.head(); !d.stale(c) && c.Applied > head {
			return nil, nil, &store.InvalidError{
				Field: "commit of " + c.Key.String(),
				Got:   fmt.Sprintf("applied %d", c.Applied),
				Want:  fmt.Sprintf("at most the head, %d", head),
			}
		}
	}
	now := time.Now()
	outcomes, announced := make([]store.Outcome, len(commits)), make([]store.Key, 0, len(commits))
	for i := range commits {
		if outcomes[i] = s.commitLocked(&commits[i], now); outcomes[i] != store.Stale {
			in, _ := s.namedLocked(commits[i].Key)
			announced = append(announced, in.announced(commits[i].Key))
		}
	}
	return outcomes, announced, nil
}

// commitLocked stores one result, unless its guard does not hold.
func (s *Store) commitLocked(c *store.Commit, now time.Time) store.Outcome {
	in, d := s.namedLocked(c.Key)
	if d.stale(c) {
		return store.Stale
	}
	in.leaveLocked(d)
	if c.Applied > c.Loaded {
		d.setView(c)
	}
	if parks := c.Failure != nil && c.Failure.Park; parks || c.Applied > c.Loaded {
		s.changeLocked(in, d, c.History && !parks)
	}
	d.setFailure(c.Failure, now)
	d.settleLease(c.Keep, now)
	in.enterLocked(d)
	if d.dirty() {
		return store.StillDirty
	}
	return store.Done
}

// stale reports whether the guard of a commit does not hold. The document may be
// nil.
func (d *document) stale(c *store.Commit) bool {
	return d == nil || d.parked() || d.applied != c.Loaded || d.epoch != c.Epoch
}

// setView replaces the view, which is never nil if there is one.
func (d *document) setView(c *store.Commit) {
	d.applied, d.deleted, d.view = c.Applied, c.Deleted, nil
	if !c.Deleted {
		d.view = append([]byte{}, c.View...)
	}
}

// setFailure replaces the record of what went wrong; nil clears it.
func (d *document) setFailure(f *store.Failure, now time.Time) {
	last := d.failure
	d.failure, d.notBefore = nil, time.Time{}
	if f == nil {
		return
	}
	d.failure = &store.Failure{
		Seq: f.Seq, Attempts: f.Attempts, Error: clip(f.Error), Stack: clip(f.Stack), Park: f.Park,
		First: now.UTC().Round(0), Last: now.UTC().Round(0),
	}
	if last != nil && last.Seq == f.Seq && f.Attempts > 1 {
		d.failure.First = last.First
	}
	if f.Delay > 0 {
		d.notBefore = now.Add(min(f.Delay, store.MaxDelay))
	}
}
