package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// Append implements [store.Store].
func (s *Store) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	if err := store.CheckAppends(appends, s.options.MaxBody); err != nil {
		return store.Appended{}, err
	}
	w := &appendWork{appends: appends}
	if err := s.submit(ctx, newRequest(w, s.options.Sync == SyncFull, appendSize(appends))); err != nil {
		return store.Appended{}, err
	}
	s.listeners.Appended(appends, w.result, w.at)
	return w.result, nil
}

// appendSize is about how many bytes an append writes.
func appendSize(appends []store.Append) int {
	size := 0
	for i := range appends {
		for j := range appends[i].Entries {
			e := &appends[i].Entries[j]
			size += 100 + len(e.Body) + len(e.Meta)
		}
	}
	return size
}

// appendWork is one call of Append.
type appendWork struct {
	appends []store.Append
	result  store.Appended
	at      time.Time // of the transaction
}

// plan is what is to be done for one document, once all may be done.
type plan struct {
	in            *collection  // nil if it is to be made
	row           *documentRow // nil if it is new
	document      int64        // 0 if it is new
	head          int64
	dirty, parked bool
	fresh         int // how many entries are new
}

func (w *appendWork) do(t *transaction) error {
	var one [1]plan
	plans := one[:]
	if len(w.appends) > 1 {
		plans = make([]plan, len(w.appends))
	}
	w.at = time.Unix(0, t.now)
	w.result = store.NewAppended(w.appends) // another one, after a rollback
	for i := range w.appends {
		if err := plans[i].check(t, &w.appends[i], w.result.Documents[i].Operations); err != nil {
			return err
		}
	}
	var covers store.Position
	for i := range w.appends {
		d := &w.result.Documents[i]
		if err := plans[i].write(t, &w.appends[i], d); err != nil {
			return err
		}
		for _, p := range d.Operations {
			covers = max(covers, p.Position)
		}
	}
	w.result.Token = store.NewToken(t.of, covers)
	return nil
}

// check finds the duplicates, and compares the head if there is something else.
// It leaves in placed the duplicates of operations that are stored; one of an
// earlier entry of the same call has only Duplicate and, as Seq, minus that
// entry's index.
func (p *plan) check(t *transaction, a *store.Append, placed []store.Placed) error {
	err := p.compare(t, a, placed)
	if p.row != nil && errors.Is(err, store.ErrConflict) && t.doubt(&p.in.served, a.Key.ID) {
		*p = plan{}
		clear(placed)
		err = p.compare(t, a, placed)
	}
	return err
}

// compare is check for a row that may be remembered.
func (p *plan) compare(t *transaction, a *store.Append, placed []store.Placed) (err error) {
	if p.in, err = t.collection(a.Key.Collection); err != nil {
		return err
	}
	if err := p.in.notDerived("append"); err != nil {
		return err
	}
	if p.in != nil {
		row, err := t.document(&p.in.served, a.Key.ID)
		if err != nil {
			return err
		}
		if row != nil {
			p.row, p.document, p.head = row, row.id, row.head
			p.dirty, p.parked = row.dirty, row.parked
		}
	}
	if p.document == 0 {
		if gone, err := t.forgotten(a.Key); err != nil {
			return err
		} else if gone {
			return fmt.Errorf("%w: %s", store.ErrForgotten, a.Key)
		}
	}
	p.fresh = len(a.Entries)
	ids := 0
	for i := range a.Entries {
		if a.Entries[i].ID != "" {
			ids++
		}
	}
	if ids > 0 {
		if err := p.findDuplicates(t, a, placed, ids); err != nil {
			return err
		}
	}
	if a.Head != nil && *a.Head != p.head && p.fresh > 0 {
		return &store.ConflictError{Key: a.Key, Expected: *a.Head, Actual: p.head}
	}
	return nil
}

func (p *plan) findDuplicates(t *transaction, a *store.Append, placed []store.Placed, ids int) error {
	var first map[string]int // the first entry of this call with an id
	if ids > 1 {
		first = make(map[string]int, ids)
	}
	for i := range a.Entries {
		e := &a.Entries[i]
		if e.ID == "" {
			continue
		}
		if j, twice := first[e.ID]; twice {
			if other := &a.Entries[j]; other.Kind != e.Kind || !bytes.Equal(other.Body, e.Body) {
				// If the earlier one is stored already, so is that which has the id.
				return &store.IDReusedError{Key: a.Key, ID: e.ID, Seq: placed[j].Seq}
			}
			placed[i] = placed[j]
			if !placed[j].Duplicate {
				placed[i].Seq = int64(-j)
			}
			placed[i].Duplicate = true
			p.fresh--
			continue
		}
		if first != nil {
			first[e.ID] = i
		}
		if p.document == 0 {
			continue
		}
		row, err := t.run.one(findID, p.document, e.ID)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		seq, body := integer(row[0]), blob(row[3])
		row[3] = nil // the row is kept
		if text(row[2]) != e.Kind || !bytes.Equal(body, e.Body) {
			return &store.IDReusedError{Key: a.Key, ID: e.ID, Seq: seq}
		}
		placed[i] = store.Placed{Seq: seq, Position: store.Position(integer(row[1])), Duplicate: true}
		p.fresh--
	}
	return nil
}
