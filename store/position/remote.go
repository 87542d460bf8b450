package position

import (
	"fmt"
	"slices"
)

// Admit takes writers of other processes, or ones that were stored, into the
// tracker: when the tracker starts, and when a writer joins, before it draws its
// first number. From then on the completed position waits for those that are
// live. When a tracker starts, all stored standings are given in one call, in any
// order, as with a part of them the completed position would move past the rest.
// The same standing may come again. Errors, as a [WriterError], for the first that
// cannot be admitted, as of [Tracker.Join]; the others are admitted all the same.
func (t *Tracker) Admit(standings ...Standing) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var failed error
	for _, s := range standings {
		if err := t.admitLocked(s); err != nil && failed == nil {
			failed = err
		}
	}
	t.moveLocked()
	return failed
}

func (t *Tracker) admitLocked(s Standing) error {
	r := t.records[s.Writer]
	if r != nil && r.epoch == s.Epoch {
		return t.hearLocked(r, s)
	}
	r, err := t.liveLocked(s.Writer, s.Epoch, s.State)
	if err != nil {
		return err
	}
	t.remote++
	r.owned = false
	r.claimed = max(r.claimed, t.upTo) // its numbers will be above all drawn so far
	r.at = r.claimed
	return t.hearLocked(r, s)
}

// Hear takes a report about a writer of another process. Reports may come late,
// twice and in any order: an older one changes nothing. Whatever the report makes
// visible, like entries of a cache to be dropped, is applied before. Errors, as a
// [WriterError]: [ErrUnknown] if the writer was not admitted in this epoch;
// [ErrFenced] if the epoch is over. The tracker is unchanged then.
func (t *Tracker) Hear(s Standing) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.records[s.Writer]
	switch {
	case r == nil:
		return &WriterError{Writer: s.Writer, Epoch: s.Epoch, Err: ErrUnknown}
	case s.Epoch > r.epoch:
		return &WriterError{Writer: s.Writer, Epoch: s.Epoch, Err: ErrUnknown, Detail: fmt.Sprintf("only epoch %d", r.epoch)}
	}
	err := t.hearLocked(r, s)
	t.moveLocked()
	return err
}

// hearLocked takes a report of the current epoch, or refuses an older one.
func (t *Tracker) hearLocked(r *record, s Standing) error {
	if s.Epoch < r.epoch || s.State == Live && r.state != Live {
		return &WriterError{
			Writer: s.Writer, Epoch: s.Epoch, Err: ErrFenced,
			Detail: fmt.Sprintf("it is %s in epoch %d", r.state, r.epoch),
		}
	}
	t.seenLocked(max(s.Completed, s.Written))
	t.learnLocked(s.Written)
	if s.State != Live {
		t.fenceLocked(r, s.Completed, s.State)
		r.wrote = max(r.wrote, s.Written)
		if len(s.Holes) > 0 {
			r.holes = slices.Clone(s.Holes)
		}
	} else if r.life == nil { // an echo of our own report says nothing
		r.claimed = max(r.claimed, s.Completed)
		r.at, r.wrote = r.claimed, max(r.wrote, s.Written)
		t.holdLocked(r)
	}
	return nil
}
