package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/refold-go/refold/store"
)

// A lease is in the row that the guard is on, so that taking, lengthening and
// giving back each change that row under its own condition, and a commit gives the
// lease up in the statement that moves applied.

// leaseOf reads owner, leased_at and leased_until.
func leaseOf(row []driver.Value, now time.Time) store.Lease {
	if row[0] == nil {
		return store.Lease{}
	}
	return store.LeaseOf(text(row[0]), moment(row[1]), moment(row[2]), now)
}

// Lease implements [store.Leaser].
func (s *Store) Lease(ctx context.Context, holder string, terms store.LeaseTerms, keys []store.Key, over bool) ([]store.Leased, error) {
	if err := store.CheckLease(holder, terms, keys); err != nil {
		return nil, err
	}
	w := &leaseWork{holder: holder, terms: terms, keys: keys, over: over}
	if err := s.submit(ctx, newRequest(w, false, 100*len(keys))); err != nil {
		return nil, err
	}
	return w.answers, nil
}

type leaseWork struct {
	holder string
	terms  store.LeaseTerms
	keys   []store.Key
	over   bool

	answers []store.Leased
}

func (w *leaseWork) do(t *transaction) error {
	w.answers = make([]store.Leased, len(w.keys))
	epoch := int64(0)
	for i, k := range w.keys {
		g, err := t.generation(k.Collection)
		if err != nil {
			return err
		}
		if err := w.answer(t, g, k, &w.answers[i], &epoch); err != nil {
			return err
		}
	}
	return nil
}

// answer takes one document, if it can be. One that is there twice under two names
// is taken once: then its epoch is not that of the row any more.
func (w *leaseWork) answer(t *transaction, g *generation, k store.Key, a *store.Leased, epoch *int64) error {
	a.Why = store.NotRunnable
	now := time.Unix(0, t.now)
	if g == nil || g.heldBack(now) {
		return nil
	}
	row, err := t.run.one(getLease, g.id, g.space, k.ID)
	if err != nil || row == nil || !truth(row[1]) || truth(row[2]) {
		return err
	}
	document, before, owner := integer(row[0]), integer(row[4]), row[5]
	*a = store.Leasable(leaseOf(row[5:], now), store.WaitLeft(moment(row[3]), now), w.holder, w.over)
	if a.Why != store.Taken {
		return nil
	}
	if *epoch == 0 {
		if *epoch, err = t.change(); err != nil {
			return err
		}
	}
	until := t.now + int64(w.terms.For) // For is not above Most
	taken, err := t.changesRow(takeLease, g.id, document, w.holder, *epoch, t.now, until, before, owner)
	if err != nil {
		return err
	}
	if a.Epoch = *epoch; !taken {
		*a = store.Leased{Why: store.Elsewhere, Lease: store.Lease{Holder: w.holder, Left: w.terms.For}}
	}
	return nil
}

// changesRow runs a statement and reports whether it changed a row.
func (t *transaction) changesRow(s statement, args ...driver.Value) (bool, error) {
	if err := t.run.exec(s, args...); err != nil {
		return false, err
	}
	row, err := t.run.one(changes)
	return err == nil && integer(row[0]) == 1, err
}

// Lengthen implements [store.Leaser].
func (s *Store) Lengthen(ctx context.Context, holder string, terms store.LeaseTerms, held []store.Held) ([]bool, error) {
	if err := store.CheckHeld(holder, &terms, held); err != nil {
		return nil, err
	}
	return s.ofHolder(ctx, &heldWork{holder: holder, terms: &terms, held: held})
}

// Release implements [store.Leaser].
func (s *Store) Release(ctx context.Context, holder string, held []store.Held) ([]bool, error) {
	if err := store.CheckHeld(holder, nil, held); err != nil {
		return nil, err
	}
	return s.ofHolder(ctx, &heldWork{holder: holder, held: held})
}

func (s *Store) ofHolder(ctx context.Context, w *heldWork) ([]bool, error) {
	if err := s.submit(ctx, newRequest(w, false, 100*len(w.held))); err != nil {
		return nil, err
	}
	return w.had, nil
}

// heldWork lengthens leases, or gives them back if there are no terms.
type heldWork struct {
	holder string
	terms  *store.LeaseTerms
	held   []store.Held

	had []bool
}

func (w *heldWork) do(t *transaction) error {
	w.had = make([]bool, len(w.held))
	for i, h := range w.held {
		g, err := t.generation(h.Key.Collection)
		if err != nil {
			return err
		}
		if g == nil {
			continue
		}
		row, err := t.run.one(getLease, g.id, g.space, h.Key.ID)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		document := integer(row[0])
		if w.terms == nil {
			w.had[i], err = t.changesRow(releaseLease, g.id, document, w.holder, h.Epoch)
		} else {
			until, most := t.now+int64(w.terms.For), int64(w.terms.Most)
			w.had[i], err = t.changesRow(lengthenLease, g.id, document, w.holder, h.Epoch, until, most)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
