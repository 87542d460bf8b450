package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// Commit implements [store.Store].
func (s *Store) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	if err := store.CheckCommits(commits); err != nil {
		return nil, err
	}
	size, parks, by := 0, false, time.Time{}
	for i := range commits {
		size += 100 + len(commits[i].View)
		if e := commits[i].Effects; e != nil {
			for j := range e.Pairs {
				size += 200 + len(e.Pairs[j].Body)
			}
		}
		f := commits[i].Failure
		parks = parks || f != nil && f.Park
		if i == 0 || commits[i].By.Before(by) {
			by = commits[i].By
		}
	}
	w := &commitWork{commits: commits}
	r := newRequest(w, parks, size)
	if !parks {
		r.by = by
	}
	if err := s.submit(ctx, r); err != nil {
		return nil, err
	}
	s.listeners.Dirty(w.woken)
	s.listeners.Committed(w.announced)
	return w.outcomes, nil
}

// commitWork is one call of Commit.
type commitWork struct {
	commits   []store.Commit
	outcomes  []store.Outcome
	announced []store.Key // of commits that are not stale
	woken     []store.Key // what is dirty elsewhere by them, by such names
}

// guarded is a document as it is found in the transaction of a commit.
type guarded struct {
	in             *generation
	row            *documentRow
	document, head int64
	failed         bool
	stale          bool
	// another is how many deltas more a derived document gets.
	another int64
	// same tells that the view is that which is stored, and history that all that it has
	// more is history.
	same, history bool
}

func (w *commitWork) do(t *transaction) error {
	found := make([]guarded, len(w.commits))
	w.announced, w.woken = make([]store.Key, 0, len(w.commits)), nil
	for i := range w.commits {
		c := &w.commits[i]
		in, err := t.generation(c.Key.Collection)
		if err != nil {
			return err
		}
		if err := found[i].check(t, in, c); err != nil {
			return err
		}
	}
	w.outcomes = make([]store.Outcome, len(w.commits))
	for i := range w.commits {
		c, g := &w.commits[i], &found[i]
		var err error
		switch {
		case g.stale:
			w.outcomes[i] = store.Stale
		case c.Effects != nil:
			w.outcomes[i], err = g.deliver(t, c, &w.woken)
		default:
			w.outcomes[i], err = g.write(t, c, &w.woken)
		}
		if err != nil {
			return err
		}
		if w.outcomes[i] != store.Stale {
			w.announced = append(w.announced, g.in.announced(c.Key))
		}
	}
	return nil
}

// check reads the document, in a generation that is nil if there is none, and
// compares it with what was loaded.
func (g *guarded) check(t *transaction, in *generation, c *store.Commit) error {
	err := g.match(t, in, c)
	if (g.stale || errors.Is(err, store.ErrInvalid)) && g.row != nil && t.doubt(in, c.Key.ID) {
		*g = guarded{}
		err = g.match(t, in, c)
	}
	return err
}

// match is check for a row that may be remembered.
func (g *guarded) match(t *transaction, in *generation, c *store.Commit) error {
	g.stale = true
	if in == nil {
		return nil
	}
	row, err := t.document(in, c.Key.ID)
	if err != nil || row == nil {
		return err
	}
	g.in, g.row, g.document, g.head = in, row, row.id, row.head
	g.stale = row.applied != c.Loaded || row.epoch != c.Epoch || row.parked
	g.failed = row.failed
	if c.Effects != nil && !g.stale {
		if g.stale, err = g.outOfRound(t, c); err != nil {
			return err
		}
	}
	if g.stale {
		return nil
	}
	if c.Applied > g.head {
		return &store.InvalidError{
			Field: "commit of " + c.Key.String(),
			Got:   fmt.Sprintf("applied %d", c.Applied),
			Want:  fmt.Sprintf("at most the head, %d", g.head),
		}
	}
	return g.checkReads(t, c)
}

// write stores the result, unless its guard does not hold: first the guarded row,
// then what depends on it.
func (g *guarded) write(t *transaction, c *store.Commit, woken *[]store.Key) (store.Outcome, error) {
	moves := c.Applied > c.Loaded
	g.history = c.History
	var since sinceAt
	var read *edges
	var err error
	if moves && (g.in.derived() || g.in.tells()) {
		if since, g.same, err = g.before(t, c); err != nil {
			return 0, err
		}
	}
	if g.in.derived() {
		if read, err = g.settle(t, c); err != nil {
			return 0, err
		}
	}
	outcome, dirty, left := store.Done, int64(0), sinceAt{}
	if g.head+g.another > c.Applied {
		if left, err = g.left(t, c.Applied); err != nil {
			return 0, err
		}
		if g.another > 0 && (left.position == 0 || since.position < left.position) {
			left = since
		}
		outcome, dirty = store.StillDirty, 1
	}
	stored, err := g.guard(t, c, c.Applied, dirty, left, moves && !(g.same && g.in.derived()))
	if err != nil {
		return 0, err
	}
	if !stored {
		return store.Stale, nil
	}
	if moves {
		if err := g.moved(t, c, read, since); err != nil {
			return 0, err
		}
		if err := g.reached(t); err != nil {
			return 0, err
		}
		if g.in.tells() && !g.same {
			if err := t.tell(g.in.of, c.Key.ID, &delta{since: since, history: g.history}, woken); err != nil {
				return 0, err
			}
		}
	}
	return outcome, g.failure(t, c)
}

// before returns the since that a document has before a commit, and whether its view
// stays as it is.
func (g *guarded) before(t *transaction, c *store.Commit) (since sinceAt, same bool, err error) {
	row, err := t.run.one(getBefore, g.in.id, g.document, notNull(c.View))
	if err != nil || row == nil {
		return sinceAt{}, false, err
	}
	same = truth(row[0]) == c.Deleted && (c.Deleted || truth(row[3]))
	return sinceAt{integer(row[1]), integer(row[2])}, same, nil
}

// failure records what went wrong, or that nothing did.
func (g *guarded) failure(t *transaction, c *store.Commit) error {
	switch f := c.Failure; {
	case f != nil:
		return t.run.exec(putFailure, g.in.id, g.document, c.Key.ID, number(f.Park), f.Seq, cut(f.Error), cut(f.Stack), t.now, int64(f.Attempts))
	case g.failed:
		return t.run.exec(dropFailure, g.in.id, g.document)
	}
	return nil
}

// guard moves the guarded row, and reports whether it was as it had been loaded. The
// guard is in the statement that moves applied, so that nothing before it has to be
// right. changes tells that it is a change of the view.
func (g *guarded) guard(t *transaction, c *store.Commit, applied, dirty int64, since sinceAt, changes bool) (stored bool, err error) {
	var attempts, notBefore, parked int64
	f := c.Failure
	if f != nil {
		attempts, parked = int64(f.Attempts), number(f.Park)
		if f.Delay > 0 {
			notBefore = t.now + int64(min(f.Delay, store.MaxDelay))
		}
	}
	var changed, news driver.Value
	if changes || parked == 1 {
		if changed, err = t.change(); err != nil {
			return false, err
		}
		if !g.history || parked == 1 {
			news = changed
		}
	}
	var keep, most int64
	if c.Keep != nil && dirty == 1 && parked == 0 {
		keep, most = t.now+int64(c.Keep.For), int64(c.Keep.Most)
	}
	stored, err = t.changesRow(moveApplied, g.in.id, g.document, c.Loaded, c.Epoch,
		applied, dirty, since.position, since.at, number(f != nil), attempts, notBefore, parked, number(c.Deleted),
		changed, news, keep, most)
	if !stored {
		t.memo = nil // the row is not what check has read
		return false, err
	}
	g.row.applied, g.row.dirty, g.row.failed, g.row.parked = applied, dirty == 1, f != nil, parked == 1
	return true, nil
}

// moved writes what follows from a move of applied: the view, and what a derived
// document has.
func (g *guarded) moved(t *transaction, c *store.Commit, read *edges, since sinceAt) error {
	if g.in.derived() {
		if err := g.settled(t, c, read, since); err != nil {
			return err
		}
	}
	switch {
	case g.same:
		return nil
	case c.Deleted:
		return t.run.exec(dropView, g.in.id, g.document)
	}
	return t.run.exec(putView, g.in.id, g.document, notNull(c.View))
}

// left returns since when something is left to do that is above a seq, which begins with an
// operation that the document has. If the file is damaged and has it not, it is the place
// of the next one, or of the last: that the document is dirty has to be recorded all the
// same.
func (g *guarded) left(t *transaction, applied int64) (sinceAt, error) {
	if g.in.derived() {
		if since, err := t.leftDeltas(g.document, applied); err != nil || since.position > 0 || g.another > 0 {
			return since, err
		}
	} else if row, err := t.run.one(nextPlace, g.document, applied+1); err != nil {
		return sinceAt{}, err
	} else if row != nil {
		return sinceAt{integer(row[0]), integer(row[1])}, nil
	}
	row, err := t.run.one(lastPlace, g.document)
	if err != nil || row == nil {
		return sinceAt{}, err
	}
	return sinceAt{integer(row[0]), t.now}, nil
}

// cut shortens the text of a failure to what is kept, between characters.
func cut(s string) string {
	if len(s) <= store.MaxFailureText {
		return s
	}
	return strings.ToValidUTF8(s[:store.MaxFailureText], "")
}
