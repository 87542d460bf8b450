package memory

import (
	"bytes"
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
	var told []store.Key
	outcomes, announced, err := s.commit(ctx, commits, &told)
	if err == nil {
		s.listeners.Dirty(told)
		s.listeners.Committed(announced)
	}
	return outcomes, err
}

// commit also returns the documents that are announced, those of stale commits left out,
// and adds to told what they have made dirty elsewhere.
func (s *Store) commit(ctx context.Context, commits []store.Commit, told *[]store.Key) ([]store.Outcome, []store.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return nil, nil, err
	}
	f := finder{s: s}
	for i := range commits {
		c := &commits[i]
		in, d := f.findLocked(c.Key)
		if head := d.head(); !d.stale(c) && c.Applied > head {
			return nil, nil, &store.InvalidError{
				Field: "commit of " + c.Key.String(),
				Got:   fmt.Sprintf("applied %d", c.Applied),
				Want:  fmt.Sprintf("at most the head, %d", head),
			}
		}
		if in != nil && !d.stale(c) {
			if err := in.checkReads(c); err != nil {
				return nil, nil, err
			}
		}
	}
	now := time.Now()
	outcomes, announced := make([]store.Outcome, len(commits)), make([]store.Key, 0, len(commits))
	for i := range commits {
		if outcomes[i] = s.commitLocked(&f, &commits[i], now, told); outcomes[i] != store.Stale {
			announced = append(announced, f.in.announced(commits[i].Key))
		}
	}
	return outcomes, announced, nil
}

// commitLocked stores one result, unless its guard does not hold.
func (s *Store) commitLocked(f *finder, c *store.Commit, now time.Time, told *[]store.Key) store.Outcome {
	in, d := f.findLocked(c.Key)
	if d.stale(c) {
		return store.Stale
	}
	of, since := f.of, store.Since{}
	in.leaveLocked(d)
	moves, other, again := c.Applied > c.Loaded, false, false
	history := c.History || in.derived != nil && moves && d.allHistory(c.Applied)
	switch {
	case !moves:
	case c.Effects != nil:
		s.deliverLocked(d, in.derived.mapping, c, told)
	default:
		since = d.since()
		other = d.setView(c)
		if in.derived != nil {
			d.settle()
			in.derived.reached = s.end
			again = s.readLocked(in, d, c.Reads)
		}
	}
	if parks := c.Failure != nil && c.Failure.Park; parks || other || moves && in.derived == nil {
		s.changeLocked(in, d, history && !parks)
	}
	d.setFailure(c.Failure, now)
	if again {
		var itself []store.Key // is told by the outcome
		s.tellLocked(in, d.key.ID, since, false, nil, &itself)
		in.leaveLocked(d)
	}
	if other && in == of.generation {
		for _, m := range of.dependents {
			s.tellLocked(m.generation, d.key.ID, since, history, nil, told)
		}
	}
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
	return d == nil || d.parked() || d.applied != c.Loaded || d.epoch != c.Epoch || c.Effects != nil && !d.in(c.Effects.From)
}

// in reports whether the document of a mapping is in a round, or may begin it.
func (d *document) in(r store.Round) bool {
	return d.made.round == r || d.made.round == store.Round{} && r == store.Round{To: r.To}
}

// setView replaces the view, which is never nil if there is one, and reports whether it
// is another one.
func (d *document) setView(c *store.Commit) (other bool) {
	other = d.deleted != c.Deleted || !c.Deleted && (d.view == nil || !bytes.Equal(d.view, c.View))
	d.applied, d.deleted = c.Applied, c.Deleted
	switch room := cap(d.view); {
	case !other:
	case c.Deleted:
		d.view = nil
	case d.view != nil && room >= len(c.View) && room <= 2*len(c.View):
		d.view = append(d.view[:0], c.View...) // nobody else has its memory
		clear(d.view[len(d.view):room])        // it may have been of what is forgotten
	default:
		d.view = append([]byte{}, c.View...)
	}
	return other
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
