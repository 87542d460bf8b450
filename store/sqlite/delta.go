package sqlite

import (
	"database/sql/driver"

	"github.com/refold-go/refold/store"
)

// sinceAt is a since: of a row, or of what it hands down.
type sinceAt struct{ position, at int64 }

// receivers are the documents of a generation that get deltas.
type receivers struct {
	generation, space, epoch int64
	name                     string // by which they are announced
	deltas                   bool   // whether deltas have contributions
}

// receiver is one of them as it is found.
type receiver struct {
	document, head, since int64
	name                  string
	dirty, parked         bool
}

// delta is what a document gets.
type delta struct {
	since   sinceAt
	history bool
	// body and mapping are those of a delta that has a contribution, and made is how
	// many contributions more there are.
	body    []byte
	mapping int64
	made    int64
}

// receiver returns a document by its id, nil if there is none.
func (t *transaction) receiver(of *receivers, name string) (*receiver, error) {
	row, err := t.run.one(getReceiver, of.generation, of.space, name)
	if row == nil {
		return nil, err
	}
	return asReceiver(row, name), nil
}

// reader returns the same by its number.
func (t *transaction) reader(of *receivers, document int64) (*receiver, error) {
	row, err := t.run.one(getReader, of.generation, document)
	if row == nil {
		return nil, err
	}
	return asReceiver(row, text(row[5])), nil
}

func asReceiver(row []driver.Value, name string) *receiver {
	return &receiver{
		document: integer(row[0]), head: integer(row[1]), since: integer(row[4]),
		name: name, dirty: truth(row[2]), parked: truth(row[3]),
	}
}

// give gives a document a delta, makes it if it is nil, and adds it to those to be
// announced, unless these are nil. It returns the document. Its since is the lowest of its
// deltas', which need not come in order.
func (t *transaction) give(of *receivers, to *receiver, name string, d *delta, woken *[]store.Key) (document int64, err error) {
	if woken != nil && (to == nil || !to.parked) {
		*woken = append(*woken, store.Key{Collection: of.name, ID: name})
	}
	if to == nil {
		if document, err = t.makeDerived(of, name, d); err != nil {
			return 0, err
		}
		return document, t.insertDelta(document, 1, d)
	}
	if !to.dirty || d.since.position < to.since {
		if err := t.run.exec(setSince, of.generation, to.document, d.since.position, d.since.at); err != nil {
			return 0, err
		}
	}
	if to.parked && d.mapping != 0 {
		if merged, err := t.merge(of, to, d); merged || err != nil {
			return to.document, err
		}
	}
	return to.document, t.put(!of.deltas && to.dirty, to.document, to.head, d)
}

// put adds a delta behind the head. Where deltas have no contributions, which is what few says,
// there are two at the most: the last one then stands for the one before it too.
func (t *transaction) put(few bool, document, head int64, d *delta) error {
	if err := t.run.exec(moveDerived, document, d.since.position, d.made); err != nil {
		return err
	}
	if few {
		stands, err := t.changesRow(standIn, document, head, d.since.position, d.since.at, number(d.history))
		if stands || err != nil {
			return err
		}
	}
	return t.insertDelta(document, head+1, d)
}

// merge lets the last delta of the same contributor, of a parked document, have what another
// one says, and reports whether there is one. Runs in hand become stale.
func (t *transaction) merge(of *receivers, to *receiver, d *delta) (bool, error) {
	row, err := t.run.one(lastSent, d.mapping, to.document)
	if err != nil || row == nil {
		return false, err
	}
	seq := integer(row[0])
	was, err := store.ParseDelta(blob(row[1]))
	if err != nil {
		return false, nil // the file is damaged
	}
	now, err := store.ParseDelta(d.body)
	if err != nil {
		return false, err
	}
	was.After = now.After
	epoch, err := t.change()
	if err != nil {
		return false, err
	}
	if err := t.run.exec(setEpoch, of.generation, to.document, epoch); err != nil {
		return false, err
	}
	if err := t.run.exec(countContributions, to.document, d.made); err != nil {
		return false, err
	}
	return true, t.run.exec(mergeDelta, to.document, seq, d.since.position, d.since.at, number(d.history), store.AppendDelta(nil, was))
}

// makeDerived makes a document that has a delta.
func (t *transaction) makeDerived(of *receivers, name string, d *delta) (document int64, err error) {
	if err := t.run.exec(newDerived, of.space, name, d.since.position, d.made); err != nil {
		return 0, err
	}
	row, err := t.run.one(lastRow)
	if err != nil {
		return 0, err
	}
	document = integer(row[0])
	return document, t.run.exec(newProgress, of.generation, document, d.since.position, d.since.at, of.epoch)
}

func (t *transaction) insertDelta(document, seq int64, d *delta) error {
	var marks, mapping driver.Value
	if d.history {
		marks = int64(markHistory)
	}
	if d.mapping != 0 {
		mapping = d.mapping
	}
	return t.run.exec(insertDelta, document, seq, d.since.position, d.since.at, notNull(d.body), marks, mapping)
}

// leftDeltas returns the since of the deltas above a seq; position is 0 if there are none.
func (t *transaction) leftDeltas(document, seq int64) (sinceAt, error) {
	row, err := t.run.one(lowestDelta, document, seq)
	if err != nil || row == nil {
		return sinceAt{}, err
	}
	return sinceAt{integer(row[0]), integer(row[1])}, nil
}
