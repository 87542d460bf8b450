package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"

	"github.com/refold-go/refold/store"
)

// Discard implements [store.Parking].
func (s *Store) Discard(ctx context.Context, d store.Discard) error {
	if err := store.CheckDiscard(&d); err != nil {
		return err
	}
	if err := store.CheckBare(d.Key.Collection); err != nil {
		return err
	}
	w := &discardWork{Discard: d}
	err := s.submit(ctx, newRequest(w, true, 100+len(d.By)+len(d.Why)))
	if err == nil {
		s.listeners.Dirty(w.dirty)
	}
	return err
}

type discardWork struct {
	store.Discard
	dirty []store.Key // what is runnable by it, by the names under which that is announced
}

func (w *discardWork) do(t *transaction) error {
	w.dirty = nil
	in, document, applied, parked, err := w.find(t)
	if err != nil {
		return err
	}
	operation, err := t.run.one(getPlace, document, w.Seq)
	switch {
	case err != nil:
		return err
	case operation == nil:
		return fmt.Errorf("%w: operation %d of %s", store.ErrNotFound, w.Seq, w.Key)
	case integer(operation[2])&markDiscarded != 0:
		t.touch = true // it may be visible and not synced
		return nil
	case w.Seq <= applied:
		return &store.InvalidError{
			Field: "discard of " + w.Key.String(),
			Got:   fmt.Sprintf("operation %d", w.Seq),
			Want:  fmt.Sprintf("one that the view lacks, above %d", applied),
		}
	}
	if err := t.run.exec(discard, document, w.Seq); err != nil {
		return err
	}
	if err := t.run.exec(putDiscard, in.id, w.Key.ID, w.Seq, w.By, w.Why, t.now); err != nil {
		return err
	}
	if err := w.apply(t, &in.served, w.Key.Collection, document, parked); err != nil {
		return err
	}
	for _, id := range in.beside() {
		if id == 0 {
			continue
		}
		if err := w.beside(t, id, document); err != nil {
			return err
		}
	}
	return nil
}

// apply makes the runs in hand of one generation stale, and resumes the document if
// it is parked at the operation. A run that has read the operation before must not be
// stored, nor one of another generation: each gets an epoch of its own.
func (w *discardWork) apply(t *transaction, g *generation, name string, document int64, parked bool) error {
	epoch, err := t.change()
	if err != nil {
		return err
	}
	if err := t.run.exec(setEpoch, g.id, document, epoch); err != nil || !parked {
		return err
	}
	failure, err := t.run.one(getFailure, g.id, document)
	if err != nil || failure == nil || integer(failure[0]) != w.Seq {
		return err
	}
	resumed, err := t.resume(g, document)
	if resumed {
		w.dirty = append(w.dirty, store.Key{Collection: name, ID: w.Key.ID})
	}
	return err
}

// beside does the same for a generation that is not served. A view that contains the
// operation is removed there, because it is not what the fold gives any more.
func (w *discardWork) beside(t *transaction, id, document int64) error {
	g, err := t.run.one(getKept, id)
	if err != nil || g == nil {
		return err
	}
	name := store.CollectionName{Name: w.Key.Collection, Version: int(integer(g[1]))}.String()
	in := &generation{id: id, space: integer(g[2])}
	row, err := t.document(in, w.Key.ID)
	if err != nil || row == nil {
		return err // Fill has not been there
	}
	if row.applied < w.Seq {
		return w.apply(t, in, name, document, row.parked)
	}
	first, err := t.run.one(nextPlace, document, int64(1))
	if err != nil || first == nil {
		return err
	}
	position, at := integer(first[0]), integer(first[1])
	epoch, err := t.change()
	if err != nil {
		return err
	}
	if err := t.run.exec(setBack, id, document, epoch, position, at); err != nil {
		return err
	}
	for _, st := range []statement{dropView, dropFailure} {
		if err := t.run.exec(st, id, document); err != nil {
			return err
		}
	}
	w.dirty = append(w.dirty, store.Key{Collection: name, ID: w.Key.ID})
	return nil
}

// find looks the document up. There is no document 0.
func (w *discardWork) find(t *transaction) (in *collection, document, applied int64, parked bool, err error) {
	if in, err = t.collection(w.Key.Collection); err != nil || in == nil {
		return in, 0, 0, false, err
	}
	if err := in.notDerived("discard"); err != nil {
		return nil, 0, 0, false, err
	}
	row, err := t.document(&in.served, w.Key.ID)
	if err != nil || row == nil {
		return in, 0, 0, false, err
	}
	return in, row.id, row.applied, row.parked, nil
}

// Discards implements [store.Parking].
func (s *Store) Discards(ctx context.Context, collection string) iter.Seq2[store.Discard, error] {
	return func(yield func(store.Discard, error) bool) {
		last := store.Discard{}
		for {
			var page []store.Discard
			err := s.read(ctx, func(c *conn) error {
				return c.each(discardsPage, func(row []driver.Value) bool {
					page = append(page, store.Discard{
						Key: store.Key{Collection: collection, ID: text(row[0])},
						Seq: integer(row[1]), By: text(row[2]), Why: text(row[3]), At: moment(row[4]),
					})
					return true
				}, collection, last.Key.ID, last.Seq, int64(pageRows))
			})
			if err != nil {
				yield(store.Discard{}, err)
				return
			}
			for _, d := range page {
				if !yield(d, nil) {
					return
				}
			}
			if len(page) < pageRows {
				return
			}
			last = page[len(page)-1]
		}
	}
}
