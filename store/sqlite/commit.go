package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/refold-go/refold/store"
)

// Commit implements [store.Store].
func (s *Store) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	if err := store.CheckCommits(commits); err != nil {
		return nil, err
	}
	size, parks := 0, false
	for i := range commits {
		size += 100 + len(commits[i].View)
		f := commits[i].Failure
		parks = parks || f != nil && f.Park
	}
	w := &commitWork{commits: commits}
	if err := s.submit(ctx, newRequest(w, parks, size)); err != nil {
		return nil, err
	}
	s.listeners.Committed(w.announced)
	return w.outcomes, nil
}

// commitWork is one call of Commit.
type commitWork struct {
	commits   []store.Commit
	outcomes  []store.Outcome
	announced []store.Key // of commits that are not stale
}

// guarded is a document as it is found in the transaction of a commit.
type guarded struct {
	generation, document, head int64
	failed                     bool
	stale                      bool
	served                     bool
}

func (w *commitWork) do(t *transaction) error {
	found := make([]guarded, len(w.commits))
	w.announced = make([]store.Key, 0, len(w.commits))
	for i := range w.commits {
		c := &w.commits[i]
		in, err := t.generation(c.Key.Collection)
		if err != nil {
			return err
		}
		if err := found[i].check(t, in, c); err != nil {
			return err
		}
		if in != nil {
			found[i].served = in.served
		}
	}
	w.outcomes = make([]store.Outcome, len(w.commits))
	for i := range w.commits {
		outcome, err := found[i].write(t, &w.commits[i])
		if err != nil {
			return err
		}
		if w.outcomes[i] = outcome; outcome != store.Stale {
			w.announced = append(w.announced, announced(w.commits[i].Key, found[i].served))
		}
	}
	return nil
}

// check reads the document, in a generation that is nil if there is none, and
// compares it with what was loaded.
func (g *guarded) check(t *transaction, in *generation, c *store.Commit) error {
	g.stale = true
	if in != nil {
		row, err := t.document(in, c.Key.ID)
		if err != nil {
			return err
		}
		if row != nil {
			g.generation, g.document, g.head = in.id, integer(row[0]), integer(row[1])
			g.stale = integer(row[5]) != c.Loaded || integer(row[6]) != c.Epoch || truth(row[3])
			g.failed = truth(row[4])
		}
	}
	if c.Applied > g.head && !g.stale {
		return &store.InvalidError{
			Field: "commit of " + c.Key.String(),
			Got:   fmt.Sprintf("applied %d", c.Applied),
			Want:  fmt.Sprintf("at most the head, %d", g.head),
		}
	}
	return nil
}

// write stores the result, unless its guard does not hold: first the guarded row,
// then what depends on it.
func (g *guarded) write(t *transaction, c *store.Commit) (store.Outcome, error) {
	if g.stale {
		return store.Stale, nil
	}
	outcome, dirty, sincePosition, sinceTime := store.Done, int64(0), int64(0), int64(0)
	var err error
	if g.head > c.Applied {
		if sincePosition, sinceTime, err = g.left(t, c.Applied+1); err != nil {
			return 0, err
		}
		outcome, dirty = store.StillDirty, 1
	}
	stored, err := g.guard(t, c, dirty, sincePosition, sinceTime)
	if err != nil {
		return 0, err
	}
	if !stored {
		return store.Stale, nil
	}
	if c.Applied > c.Loaded {
		if err := g.moved(t, c); err != nil {
			return 0, err
		}
	}
	switch f := c.Failure; {
	case f != nil:
		err = t.run.exec(putFailure, g.generation, g.document, c.Key.ID, number(f.Park), f.Seq, cut(f.Error), cut(f.Stack), t.now, int64(f.Attempts))
	case g.failed:
		err = t.run.exec(dropFailure, g.generation, g.document)
	}
	return outcome, err
}

// guard moves the guarded row, and reports whether it was as it had been loaded. The
// guard is in the statement that moves applied, so that nothing before it has to be
// right.
func (g *guarded) guard(t *transaction, c *store.Commit, dirty, sincePosition, sinceTime int64) (stored bool, err error) {
	var attempts, notBefore, parked int64
	f := c.Failure
	if f != nil {
		attempts, parked = int64(f.Attempts), number(f.Park)
		if f.Delay > 0 {
			notBefore = t.now + int64(min(f.Delay, store.MaxDelay))
		}
	}
	var changed, news driver.Value
	if c.Applied > c.Loaded || parked == 1 {
		if changed, err = t.change(); err != nil {
			return false, err
		}
		if !c.History || parked == 1 {
			news = changed
		}
	}
	var keep, most int64
	if c.Keep != nil && dirty == 1 && parked == 0 {
		keep, most = t.now+int64(c.Keep.For), int64(c.Keep.Most)
	}
	err = t.run.exec(moveApplied, g.generation, g.document, c.Loaded, c.Epoch,
		c.Applied, dirty, sincePosition, sinceTime, number(f != nil), attempts, notBefore, parked, number(c.Deleted),
		changed, news, keep, most)
	if err != nil {
		return false, err
	}
	row, err := t.run.one(changes)
	if err != nil {
		return false, err
	}
	return integer(row[0]) == 1, nil
}

// moved writes what follows from a move of applied: the view.
func (g *guarded) moved(t *transaction, c *store.Commit) error {
	if c.Deleted {
		return t.run.exec(dropView, g.generation, g.document)
	}
	return t.run.exec(putView, g.generation, g.document, notNull(c.View))
}

// left returns since when something is left to do, which begins with an operation that
// the document has. If the file is damaged and has it not, it is the place of the next
// one, or of the last: that the document is dirty has to be recorded all the same.
func (g *guarded) left(t *transaction, seq int64) (position, at int64, err error) {
	row, err := t.run.one(nextPlace, g.document, seq)
	if err != nil {
		return 0, 0, err
	}
	if row != nil {
		return integer(row[0]), integer(row[1]), nil
	}
	if row, err = t.run.one(lastPlace, g.document); err != nil || row == nil {
		return 0, 0, err
	}
	return integer(row[0]), t.now, nil
}

// cut shortens the text of a failure to what is kept, between characters.
func cut(s string) string {
	if len(s) <= store.MaxFailureText {
		return s
	}
	return strings.ToValidUTF8(s[:store.MaxFailureText], "")
}
