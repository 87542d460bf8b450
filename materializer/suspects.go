package materializer

import (
	"context"
	"iter"
	"math"
	"sync/atomic"

	"github.com/refold-go/refold/store"
)

// suspects are the documents that may have brought the process down: after an
// unclean end, those that were dirty then. A row tells by itself: it lacks an
// operation at or before the end that the log had when Run began. So there is no
// list of them, and one that was parked or paused then is a suspect whenever it
// goes on.
//
// They are run one at a time, in a lane of their own beside the pool, and each
// attempt is recorded before it is made. So a suspect costs one commit a run more
// than otherwise, and shares neither load nor commit with others: on SQLite some
// 0.4 ms. The pool passes it over. A clean start has none of this.
//
// In a generation that is not served everything may be dirty from long ago. It is made
// in order of position, so that what was in hand is among the first, and only those are
// suspects; one that was further on is among them after the next end.
//
// What is derived takes over the place of its source, so that a fan-out which goes on makes
// documents dirty since long ago that nobody had in hand then. Therefore these are listed as
// they are found, up to a number; if there are more, or not all can be read now, the place
// tells them too.
type suspects struct {
	end  atomic.Int64         // position; 0 is none
	poke chan struct{}        // receives when there may be one more
	lane atomic.Pointer[lane] // that of this process; nil before Run
}

// look makes the lane look for suspects.
func (s *suspects) look() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// suspect reports whether a document is one that only the lane runs: it may have
// brought the last process down, or another one that shares the store, which has left
// it behind.
func (m *Materializer) suspect(own Key, since store.Since, lease store.Lease) bool {
	return m.suspects.end.Load() > 0 && m.suspectSince(own, since) || m.leftBehind(own, lease)
}

// leftBehind reports whether another holder has left a document behind than the pool that is
// to run it. That of the lane of this process may be one, and so may its other pool: the pool leaves
// the document alone all the same.
func (m *Materializer) leftBehind(own Key, lease store.Lease) bool {
	mine := m.sharing.holder()
	if mine == "" || !lease.LeftBehind() {
		return false
	}
	if c := m.collection(own.Collection); c != nil && !c.served.Load() {
		mine += besides
	}
	return lease.Holder != mine
}

// suspectSince reports whether a document was dirty when the last process ended, and may
// have been in its hands.
func (m *Materializer) suspectSince(own Key, since store.Since) bool {
	c := m.collection(own.Collection)
	return c != nil && since.Position > 0 && int64(since.Position) <= c.suspects.Load() && c.lists(own.ID)
}

// lists reports whether a document is a suspect if its place is one of theirs.
func (c *collection) lists(id string) bool {
	listed := c.listed.Load()
	return listed == nil || (*listed)[id]
}

// mostListed is how many documents of a derived collection or of a mapping are listed.
const mostListed = 4096

// list lists the documents of a collection that are dirty, if they are few. Who is not
// runnable now may be so later: those that are parked are listed too, and if others are
// held back nothing is.
func (m *Materializer) list(ctx context.Context, c *collection) error {
	listed := make(map[string]bool)
	for row, err := range m.st.Runnable(ctx, []string{c.own}) {
		if err != nil {
			return err
		}
		if listed[row.Key.ID] = true; len(listed) > mostListed {
			return nil
		}
	}
	counts, err := m.st.Count(ctx, c.own)
	if err != nil || counts.Dirty != int64(len(listed)) {
		return err
	}
	for doc, err := range m.st.Parked(ctx, c.own) {
		if err != nil {
			return err
		}
		if listed[doc.Key.ID] = true; len(listed) > mostListed {
			return nil
		}
	}
	c.listed.Store(&listed)
	return nil
}

// leastSuspects is how many documents of a generation that is not served are suspects
// at least.
const leastSuspects = 64

// suspectUpTo finds out, after an unclean end, which documents are suspects.
func (m *Materializer) suspectUpTo(ctx context.Context, end store.Position) error {
	for _, name := range m.generations() {
		c := m.collection(name)
		last := end
		if c.kind != folding && c.served.Load() {
			if err := m.list(ctx, c); err != nil {
				return err
			}
		}
		if !c.served.Load() {
			last = 0
			n, first := 0, make(map[string]bool)
			for row, err := range m.st.Runnable(ctx, []string{name}) {
				if err != nil {
					return err
				}
				if row.Since.Position > end {
					break
				}
				if last = row.Since.Position; row.Wait == 0 {
					n++
				}
				if first[row.Key.ID] = true; n == max(leastSuspects, 2*m.cfg.asideWorkers()*m.cfg.Batch) {
					break
				}
			}
			if c.kind != folding { // which may all be of one place
				c.listed.Store(&first)
			}
		}
		c.suspects.Store(int64(last))
	}
	m.suspects.end.Store(int64(end))
	return nil
}

// mayBeSuspects returns the runnable documents that have the suspects among them: those
// that are left of an unclean end come first in each generation, and what others have
// left behind is anywhere, but among the first where everything is dirty.
func (m *Materializer) mayBeSuspects(ctx context.Context) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		shared := m.sharing.holder() != ""
		for _, name := range m.generations() {
			c, n, most := m.collection(name), 0, 4*asidePage
			if c.served.Load() {
				most = math.MaxInt
			}
			for row, err := range m.st.Runnable(ctx, []string{name}) {
				if err == nil && (!shared && int64(row.Since.Position) > c.suspects.Load() || n == most) {
					break
				}
				if err == nil && !shared && !c.lists(row.Key.ID) {
					continue
				}
				n++
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
	}
}
