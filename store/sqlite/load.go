package sqlite

import (
	"context"
	"database/sql/driver"
	"math"
	"time"

	"github.com/refold-go/refold/store"
)

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	served, other := loadServedPlain, loadPlain
	if parts == store.WithViews {
		served, other = loadServedViews, loadViews
	}
	docs := make([]store.Document, len(keys))
	err := s.read(ctx, func(c *conn) error {
		for i, k := range keys {
			// One statement a document, so that its view and its guard are of one moment.
			var row []driver.Value
			var err error
			if store.CheckBare(k.Collection) == nil {
				row, err = c.one(served, k.Collection, k.ID)
			} else {
				name, version, source := named(k.Collection)
				row, err = c.one(other, name, version, source, k.ID)
			}
			if err != nil {
				return err
			}
			docs[i].Key = k
			if row != nil {
				fillDocument(&docs[i], row)
			}
			if ctx.Err() != nil {
				return stopped(ctx)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// fillDocument reads a row of selectDocument, but for the name.
func fillDocument(d *store.Document, row []driver.Value) {
	d.Head, d.Last = integer(row[1]), store.Position(integer(row[2]))
	d.Applied, d.Epoch = integer(row[3]), integer(row[4])
	if truth(row[5]) {
		d.Since = store.Since{Position: store.Position(integer(row[6])), Time: moment(row[7])}
	}
	d.Deleted, d.Version = truth(row[17]), int(integer(row[23]))
	if truth(row[10]) {
		d.Failure = &store.Failure{
			Seq: integer(row[11]), Attempts: int(integer(row[9])),
			Error: text(row[12]), Stack: text(row[13]), Park: truth(row[8]),
			First: moment(row[15]), Last: moment(row[16]),
			Delay: store.WaitLeft(moment(row[14]), time.Now()),
		}
	}
	if row[20] != nil {
		d.Lease = leaseOf(row[20:], time.Now())
	}
	if d.Applied > 0 {
		d.View = blob(row[24])
		row[24] = nil // the row is kept, the view is the caller's
	}
}

// Operations implements [store.Store].
func (s *Store) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	out := make([][]store.Operation, len(ranges))
	b := spending{Budget: budget}
	err := s.read(ctx, func(c *conn) error {
		for i, r := range ranges {
			if err := b.read(c, r, &out[i]); err != nil || b.spent {
				return err
			}
			if ctx.Err() != nil {
				return stopped(ctx)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// asOperation reads a row of an operation.
func asOperation(row []driver.Value) store.Operation {
	marks := integer(row[7])
	op := store.Operation{
		Seq:       integer(row[0]),
		Position:  store.Position(integer(row[1])),
		Discarded: marks&markDiscarded != 0,
		History:   marks&markHistory != 0,
		Entry: store.Entry{
			ID: text(row[2]), Kind: text(row[3]), Time: moment(row[4]),
			Meta: blob(row[5]), Body: blob(row[6]),
		},
	}
	row[5], row[6] = nil, nil // the row is kept, these are the caller's
	return op
}

// spending is a budget and what was taken out of it.
type spending struct {
	store.Budget
	operations int
	bytes      int64
	spent      bool
	found      string // a generation that there is
}

// read appends the operations of a range that the budget allows. It reads at
// most one more than that.
func (b *spending) read(c *conn, r store.Range, to *[]store.Operation) error {
	last, limit := r.To, int64(math.MaxInt64)
	if last == 0 {
		last = math.MaxInt64
	}
	if b.Operations > 0 {
		if b.operations >= b.Operations {
			b.spent = true
			return nil
		}
		limit = int64(b.Operations - b.operations)
	}
	name, version, source := named(r.Key.Collection)
	if (version != 0 || source != "") && b.found != r.Key.Collection {
		// Its operations are those of the collection, if there is such a generation.
		if in, err := find(c, r.Key.Collection); err != nil || in.id == 0 {
			return err
		}
		b.found = r.Key.Collection
	}
	return c.each(readOperations, func(row []driver.Value) bool {
		op := asOperation(row)
		size := int64(len(op.Body) + len(op.Meta))
		if b.Bytes > 0 && b.operations > 0 && b.bytes+size > b.Bytes {
			b.spent = true
			return false
		}
		b.operations++
		b.bytes += size
		*to = append(*to, op)
		return true
	}, name, r.Key.ID, r.From, last, limit)
}
