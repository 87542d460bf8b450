package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/refold-go/refold/store"
)

// The most that one slice erases: operations, and bytes of their bodies and
// metas. At least one operation is erased.
const (
	sliceRows  = 1000
	sliceBytes = 1 << 20
)

// sliceWork is work that is done in slices, each a transaction.
type sliceWork interface {
	work
	// more reports whether there is more to do.
	more() bool
}

// eraseAll does slices until there is nothing more to do. They need no sync of
// their own: what they have not done is found again.
func (s *Store) eraseAll(ctx context.Context, slice func() sliceWork) error {
	for {
		w := slice()
		if err := s.submit(ctx, newRequest(w, false, sliceBytes)); err != nil {
			return ended(ctx, err)
		}
		if e, ok := w.(*eraseWork); ok {
			s.listeners.Dirty(e.woken)
		}
		if !w.more() {
			return nil
		}
	}
}

// spent counts what a slice has erased.
type spent struct {
	rows  int
	bytes int64
}

func (s *spent) full() bool { return s.rows >= sliceRows || s.bytes >= sliceBytes }

// eraseOperations erases operations of a document as long as the slice is not
// full, and reports whether that was all.
func (t *transaction) eraseOperations(document int64, s *spent) (all bool, err error) {
	last := int64(0)
	for !all && !s.full() {
		row, err := t.run.one(nextOperation, document, last)
		if err != nil {
			return false, err
		}
		if all = row == nil; !all {
			last = integer(row[0])
			s.rows++
			s.bytes += integer(row[1])
		}
	}
	if last > 0 {
		if err := t.run.exec(dropLog, document, last); err != nil {
			return false, err
		}
		err = t.run.exec(dropOperations, document, last)
	}
	return all, err
}

// eraseWork erases a part of the first document that is being erased and whose
// name begins with this or comes after it.
type eraseWork struct {
	name string
	only bool // none that comes after it

	left  bool
	woken []store.Key // derived documents that are dirty by it
}

func (w *eraseWork) more() bool { return w.left }

func (w *eraseWork) do(t *transaction) error {
	w.woken = nil
	row, err := t.run.one(getErasing, w.name)
	if err != nil {
		return err
	}
	if w.left = row != nil && (!w.only || strings.HasPrefix(text(row[1]), w.name)); !w.left {
		return nil
	}
	document := integer(row[0])
	if of, ok := parseRetracted(text(row[1])); ok {
		_, err := t.retract(document, of, sinceAt{integer(row[2]), integer(row[3])}, &w.woken)
		return err
	}
	all, err := t.eraseOperations(document, new(spent))
	if err != nil || !all {
		return err
	}
	return t.run.exec(dropDocument, document)
}

// Drop implements [store.Eraser]. Ids of documents and collections are never
// used by two at once: the row of one that is being erased stays to the end.
func (s *Store) Drop(ctx context.Context, collection string) error {
	if err := store.CheckBare(collection); err != nil {
		return err
	}
	if err := s.submit(ctx, newRequest(&dropWork{collection}, true, 100)); err != nil {
		return err
	}
	err := s.eraseAll(ctx, func() sliceWork { return new(dropSliceWork) })
	if err == nil {
		err = s.shrink(ctx)
	}
	if err != nil {
		return fmt.Errorf("refold: a collection was dropped, removing its content was interrupted: %w", err)
	}
	return nil
}

// dropWork takes a collection away: without a name nobody finds it.
type dropWork struct{ name string }

func (w *dropWork) do(t *transaction) error {
	in, err := t.collection(w.name)
	if err != nil {
		return err
	}
	if t.touch = true; in == nil {
		return nil
	}
	if in.dependents > 0 {
		return w.refuse(t, in)
	}
	for _, id := range []int64{in.served.id, in.building, in.kept} {
		if in.derived && id != 0 {
			if err := t.startSweeping(in, id); err != nil {
				return err
			}
		}
	}
	t.regenerated()
	if err := t.run.exec(startDropping, in.id); err != nil {
		return err
	}
	number, err := t.change()
	if err != nil {
		return err
	}
	return t.run.exec(setMeta, metaDropped, number)
}

// refuse returns an error that names what is made of a collection.
func (w *dropWork) refuse(t *transaction, in *collection) error {
	row, err := t.run.one(listDependents, in.id)
	if err != nil {
		return err
	}
	of := "another"
	if row != nil {
		of = text(row[4])
	}
	return &store.InvalidError{
		Field: "collection to drop", Got: w.name + ", of which " + of + " is made", Want: "one that nothing is made of",
	}
}

// dropSliceWork erases a part of a collection that is being dropped.
type dropSliceWork struct{ left bool }

func (w *dropSliceWork) more() bool { return w.left }

func (w *dropSliceWork) do(t *transaction) error {
	row, err := t.run.one(getDropping)
	w.left = row != nil
	if err != nil || !w.left {
		return err
	}
	collection := integer(row[0])
	s := new(spent)
	for {
		row, err := t.run.one(nextMade, collection)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		if all, err := t.sweepDerived(integer(row[0]), s); err != nil || !all {
			return err
		}
	}
	for ; !s.full(); s.rows++ {
		row, err := t.run.one(nextDocument, collection)
		if err != nil {
			return err
		}
		if row == nil {
			for _, st := range []statement{dropGenerations, dropDropping} {
				if err := t.run.exec(st, collection); err != nil {
					return err
				}
			}
			return t.run.exec(dropCollection, collection)
		}
		document, name := integer(row[0]), text(row[1])
		all, err := t.eraseOperations(document, s)
		if err != nil || !all {
			return err
		}
		if err := t.eraseRows(collection, document, name); err != nil {
			return err
		}
		if err := t.run.exec(dropDocument, document); err != nil {
			return err
		}
	}
	return nil
}

// ended gives the cause of a context that has ended the place of an error which
// says that nothing was stored: here something is.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, store.ErrBusy) {
		return context.Cause(ctx)
	}
	return err
}
