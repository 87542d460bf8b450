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
	delta := &operation{
		Operation: store.Operation{Position: since.Position, History: history, Entry: store.Entry{Time: since.Time, Body: append([]byte{}, body...)}},
		appended:  since.Time.UnixNano(),
	}
	if !d.parked() || !s.mergeLocked(d, delta) {
		d.put(delta, g.derived.deltas)
	}
	g.enterLocked(d)
	if !d.parked() {
		*told = append(*told, g.keyOf(id))
	}
	return d
}

// put adds a delta behind the head. Where deltas have no contributions there are two at the
// most: the last one then stands for the one before it too.
func (d *document) put(delta *operation, deltas bool) {
	d.made.head++
	d.made.last, delta.Seq = delta.Position, d.made.head
	if last := len(d.operations) - 1; !deltas && last > 0 {
		delta.takeIn(d.operations[last])
		d.operations[last] = delta
		return
	}
	d.operations = append(d.operations, delta)
}

// mergeLocked lets the last delta of the same contributor, of a parked document, have what
// another one says, and reports whether there is one. Runs in hand become stale.
func (s *Store) mergeLocked(d *document, delta *operation) bool {
	now, err := store.ParseDelta(delta.Body)
	if err != nil {
		return false
	}
	for i := range slices.Backward(d.operations) {
		was, err := store.ParseDelta(d.operations[i].Body)
		if err != nil || was.Contributor != now.Contributor {
			continue
		}
		was.After = now.After
		delta.Seq, delta.Body = d.operations[i].Seq, store.AppendDelta(nil, was)
		delta.takeIn(d.operations[i])
		d.operations[i] = delta
		s.changes++
		d.epoch = s.changes
		return true
	}
	return false
}

// takeIn makes a delta stand for an earlier one too.
func (o *operation) takeIn(earlier *operation) {
	o.History = o.History && earlier.History
	if earlier.Position <= o.Position {
		o.Position, o.Time, o.appended = earlier.Position, earlier.Time, earlier.appended
	}
}

// allHistory reports whether all deltas that are not applied, up to a seq, are history. If
// another one stands for that of the seq, it counts.
func (d *document) allHistory(to int64) bool {
	last := d.applied
	for i := range d.operations {
		if last >= to {
			break
		}
		if !d.operations[i].History {
			return false
		}
		last = d.operations[i].Seq
	}
	return true
}

// settle removes the deltas that are applied.
func (d *document) settle() {
	d.operations = slices.Delete(d.operations, 0, len(d.between(0, d.applied)))
	d.made.lowest = store.Since{}
	for i := range d.operations {
		if o := d.operations[i]; i == 0 || o.Position < d.made.lowest.Position {
			d.made.lowest = o.since()
		}
	}
}
