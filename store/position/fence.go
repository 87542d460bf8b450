package position

import (
	"fmt"
	"slices"
)

// Fence declares a writer dead, in all its epochs up to and including the one
// given, and announces its holes. Nobody waits for it any more, and what comes
// from it later is refused.
//
// It must be proven before that nothing of these epochs can become visible later:
// raise the epoch where the transactions of the writer check it, in the database
// that they commit to, and only then read the greatest number that the writer can
// have committed, which is ended. A writer that merely is not heard of can have
// a commit under way; to go on without it would skip that.
//
// Fence returns the holes. For a writer of this process they are what it had
// open; for one of another process, everything from its last report to ended. It
// may be repeated. Errors, as a [WriterError]: [ErrUnknown] if the writer was
// never admitted; [ErrFenced] if it has a greater epoch.
func (t *Tracker) Fence(w Writer, e Epoch, ended Number) ([]Hole, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.records[w]
	if r == nil {
		return nil, &WriterError{Writer: w, Epoch: e, Err: ErrUnknown}
	}
	if e < r.epoch {
		return nil, &WriterError{Writer: w, Epoch: e, Err: ErrFenced, Detail: fmt.Sprintf("it is in epoch %d", r.epoch)}
	}
	r.epoch, r.owned = e, true
	t.fenceLocked(r, ended, Fenced)
	t.moveLocked()
	return slices.Clone(r.holes), nil
}

// fenceLocked ends the life of a writer, if it has one, and completes what it has
// open.
func (t *Tracker) fenceLocked(r *record, ended Number, how State) {
	t.seenLocked(ended)
	switch {
	case r.life != nil:
		l := r.life.ledger
		l.numbers(func(n Number) {
			t.learnLocked(n)
			ended = max(ended, n)
			if last := len(r.holes) - 1; last >= 0 && r.holes[last].Last == n-1 {
				r.holes[last].Last = n
			} else {
				r.holes = append(r.holes, Hole{Writer: r.writer, First: n, Last: n})
			}
		})
	case r.state == Live && how == Fenced && ended > r.claimed:
		r.holes = []Hole{{Writer: r.writer, First: r.claimed + 1, Last: ended}}
	}
	r.claimed = max(r.claimed, ended)
	r.at = r.claimed
	if r.state != Live && how == Left {
		how = r.state // it was told before, or fenced since
	}
	t.endLocked(r, how)
}
