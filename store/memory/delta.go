package memory

import (
	"slices"

	"github.com/refold-go/refold/store"
)

// tellLocked gives a document of a generation a delta, and makes the document if need
// be. It adds it to those that are to be announced, unless it is parked.
func (s *Store) tellLocked(g *generation, id string, since store.Since, history bool, body []byte, told *[]store.Key) *document {
	d := g.documents[id]
	if d == nil {
		c := &content{key: store.Key{Collection: g.derived.name, ID: id}, index: len(g.derived.contents)}
		g.derived.contents = append(g.derived.contents, c)
		d = g.add(c)
	}
	g.leaveLocked(d)
	if !d.dirty() || since.Position < d.made.lowest.Position {
		d.made.lowest = since
	}
	d.operations = append(d.operations, operation{
		Operation: store.Operation{
			Seq: d.head() + 1, Position: since.Position, History: history, Entry: store.Entry{Time: since.Time, Body: append([]byte{}, body...)},
		},
		appended: since.Time,
	})
	d.made.last = since.Position
	g.enterLocked(d)
	if !d.parked() {
		*told = append(*told, g.keyOf(id))
	}
	return d
}

// allHistory reports whether all deltas that are not applied, up to a seq, are history.
func (d *document) allHistory(to int64) bool {
	for seq := d.applied + 1; seq <= to; seq++ {
		if !d.operation(seq).History {
			return false
		}
	}
	return true
}

// settle removes the deltas that are applied.
func (d *document) settle() {
	d.operations = slices.Delete(d.operations, 0, int(d.applied-d.made.gone))
	d.made.gone, d.made.lowest = d.applied, store.Since{}
	for i := range d.operations {
		if o := &d.operations[i]; i == 0 || o.Position < d.made.lowest.Position {
			d.made.lowest = store.Since{Position: o.Position, Time: o.appended}
		}
	}
}
