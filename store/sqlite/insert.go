package sqlite

import (
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
)

const insertInto = `INSERT INTO refold_operations (document, seq, position, id, kind, at, time, meta, body, marks) VALUES `

const (
	// manyRows is how many operations insertMany inserts.
	manyRows = 8
	// manyBytes is the most bytes of bodies and metas that it is used for. Above
	// that a crossing into C is not what costs.
	manyBytes = 16 << 10
	columns   = 10
)

// insertRows inserts several operations at once, which makes appends of ten a
// tenth faster. OR FAIL keeps SQLite from
// opening a statement journal, which costs more than the crossings saved: what
// failed half-way is rolled back with its transaction.
var insertRows = strings.Replace(insertInto, "INSERT", "INSERT OR FAIL", 1) +
	strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?, ?, ?), ", manyRows-1) + "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

// write adds the new entries of one document, and says where all of them are.
func (p *plan) write(t *transaction, a *store.Append, d *store.AppendedDocument) error {
	d.Head, d.Parked = p.head, p.parked
	if p.fresh == 0 {
		// What was found may be visible and not synced, if a crash came between.
		t.touch = true
		return nil
	}
	before, err := t.position(p.fresh)
	if err != nil {
		return err
	}
	place(d.Operations, p.head, before)
	d.Head += int64(p.fresh)
	if p.document == 0 {
		err = p.make(t, a.Key, before)
	} else {
		err = p.move(t, before)
	}
	if err != nil {
		return err
	}
	if err := t.run.exec(insertLog, before+1, p.document, p.head+1, int64(p.fresh)); err != nil {
		return err
	}
	return p.insert(t, a, d.Operations)
}

// move bumps the head of a document once for all entries, and marks the document
// dirty where it was clean, in each generation that lives.
func (p *plan) move(t *transaction, before int64) error {
	fresh := int64(p.fresh)
	if err := t.run.exec(moveHead, p.document, fresh, before+fresh, p.head); err != nil {
		return err
	}
	p.row.head += fresh
	if !p.dirty {
		if err := t.run.exec(markDirty, p.in.served.id, p.document, before+1, t.now); err != nil {
			return err
		}
		p.row.dirty = true
	}
	for _, id := range p.in.beside() {
		if id == 0 {
			continue
		}
		// It may have no row there yet: Fill makes a dirty one.
		if err := t.run.exec(markDirty, id, p.document, before+1, t.now); err != nil {
			return err
		}
	}
	return nil
}

// make makes a document, and its collection if need be.
func (p *plan) make(t *transaction, k store.Key, before int64) (err error) {
	if p.in == nil {
		// An earlier document of the same call may have made it.
		if p.in, err = t.collection(k.Collection); err == nil && p.in == nil {
			p.in, err = t.makeCollection(k.Collection, 0)
		}
		if err != nil {
			return err
		}
	}
	fresh := int64(p.fresh)
	if err := t.run.exec(newDocument, p.in.served.space, k.ID, fresh, before+fresh); err != nil {
		return err
	}
	row, err := t.run.one(lastRow)
	if err != nil {
		return err
	}
	p.document = integer(row[0])
	if err := t.run.exec(newProgress, p.in.served.id, p.document, before+1, t.now, p.in.epoch); err != nil {
		return err
	}
	t.made(&p.in.served, k.ID, &documentRow{id: p.document, head: fresh, dirty: true, epoch: p.in.epoch})
	for _, id := range p.in.beside() {
		if id == 0 {
			continue
		}
		if err := t.run.exec(newProgressBeside, id, p.document, before+1, t.now); err != nil {
			return err
		}
	}
	return nil
}

// place numbers the entries that are no duplicates, and completes the duplicates
// of entries of the same call.
func place(placed []store.Placed, seq, position int64) {
	for i := range placed {
		switch p := &placed[i]; {
		case !p.Duplicate:
			seq++
			position++
			p.Seq, p.Position = seq, store.Position(position)
		case p.Seq <= 0:
			first := placed[-p.Seq]
			p.Seq, p.Position = first.Seq, first.Position
		}
	}
}

// insert inserts the entries that are no duplicates.
func (p *plan) insert(t *transaction, a *store.Append, placed []store.Placed) error {
	rows, size := 0, 0
	var marks driver.Value
	if a.History {
		marks = int64(markHistory)
	}
	t.args = t.args[:0]
	flush := func() error {
		defer func() { clear(t.args); t.args, rows, size = t.args[:0], 0, 0 }()
		if rows == manyRows {
			return t.run.exec(insertMany, t.args...)
		}
		for args := range slices.Chunk(t.args, columns) {
			if err := t.run.exec(insertOne, args...); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range a.Entries {
		if placed[i].Duplicate {
			continue
		}
		e := &a.Entries[i]
		t.args = append(t.args, p.document, placed[i].Seq, int64(placed[i].Position),
			nullText(e.ID), e.Kind, t.now, nullTime(e.Time), nullBlob(e.Meta), notNull(e.Body), marks)
		rows++
		if size += len(e.Body) + len(e.Meta); rows == manyRows || size > manyBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
