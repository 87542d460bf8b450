package sqlite

import (
	"context"

	"github.com/refold-go/refold/store"
)

// fillDocuments is how many documents of the store, of whatever collection, Fill
// looks at in one transaction: about a millisecond, if all are of the collection. Larger
// slices are no faster, and appends wait for one.
const fillDocuments = 250

// Fill implements [store.Generator].
func (s *Store) Fill(ctx context.Context, generation string) (more bool, err error) {
	name, err := store.ParseGeneration(generation)
	if err != nil {
		return false, err
	}
	w := &fillWork{name: name}
	err = s.submit(ctx, newRequest(w, false, sliceBytes))
	return w.more && err == nil, err
}

// fillWork makes the rows of some documents. They are found by their ids, which are
// in the order in which the documents were made: the place is one number, whatever
// happens between two slices. A document that was made after the registration has
// its row from the append.
type fillWork struct {
	name store.CollectionName
	more bool
}

func (w *fillWork) do(t *transaction) error {
	w.more = false
	g, err := t.state(w.name)
	if err != nil {
		return err
	}
	if g.in.derived {
		w.more, err = t.fillMapping(g)
		return err
	}
	if g.scanned >= g.until {
		return nil
	}
	end := min(g.scanned+fillDocuments, g.until)
	if err := t.run.exec(fillRows, g.id, g.scanned, end, g.space, g.epoch, t.now); err != nil {
		return err
	}
	made, err := t.run.one(changes)
	if err != nil {
		return err
	}
	w.more = end < g.until
	return t.run.exec(moveScan, g.id, end, integer(made[0]))
}
