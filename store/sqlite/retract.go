package sqlite

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"github.com/refold-go/refold/store"
)

// retractDocuments is how many derived documents one slice of forgetting a source
// document concerns.
const retractDocuments = 250

// retracted is the name of the document of a mapping that is being erased, of which the
// source document was forgotten: what it was is needed until its effects are gone. Such a
// document has the end of the log when it was forgotten, which its effects hand down as
// since, in last_position and, as a time, in head.
type retracted struct {
	hash    string // of the source document, in hexadecimal
	mapping int64
	id      string // of the source document
}

func (w retracted) String() string { return fmt.Sprintf("%s:%d:%s", w.hash, w.mapping, w.id) }

// parseRetracted reads what String wrote.
func parseRetracted(name string) (w retracted, ok bool) {
	var mapping string
	w.hash, mapping, _ = strings.Cut(name, ":")
	mapping, w.id, ok = strings.Cut(mapping, ":")
	if ok {
		var err error
		w.mapping, err = strconv.ParseInt(mapping, 10, 64)
		ok = err == nil
	}
	return w, ok
}

// startRetracting takes the documents of mappings away of which the source document is
// forgotten, those of mappings that are being dropped among them.
func (t *transaction) startRetracting(in *collection, id, hash string) error {
	type read struct{ mapping, feeds int64 }
	var all []read
	err := t.run.each(everyDependent, func(row []driver.Value) bool {
		all = append(all, read{integer(row[0]), integer(row[1])})
		return true
	}, in.id)
	if err != nil {
		return err
	}
	since := sinceAt{at: t.now}
	if since.position, err = t.end(); err != nil {
		return err
	}
	for _, r := range all {
		name := retracted{hash, r.mapping, id}.String()
		row, err := t.run.one(getReceiver, r.mapping, -r.mapping, id)
		if err != nil {
			return err
		}
		if row == nil {
			// Who has read it may have done so before it had a view.
			if row, err = t.run.one(readersPage, in.id, id, r.feeds, int64(0), int64(1)); err != nil {
				return err
			}
			if row != nil {
				err = t.run.exec(newErasing, name, since.position, since.at)
			}
			if err != nil {
				return err
			}
			continue
		}
		document := integer(row[0])
		if err := t.run.exec(startErasing, document, name, since.position, since.at); err != nil {
			return err
		}
		for _, st := range []statement{dropFailure, dropProgressOf} {
			if err := t.run.exec(st, r.mapping, document); err != nil {
				return err
			}
		}
		if err := t.run.exec(dropRound, document); err != nil {
			return err
		}
	}
	return nil
}

// retract erases a part of the effects of a document of a mapping, and reports whether
// that was all. Who had a contribution or has read the source gets a delta without a body,
// and so become the deltas that have a contribution.
func (t *transaction) retract(document int64, w retracted, since sinceAt, woken *[]store.Key) (all bool, err error) {
	row, err := t.run.one(getFeeding, w.mapping)
	if err != nil {
		return false, err
	}
	var to *receivers // nil if it does not live
	source, feeds := int64(0), int64(0)
	if row != nil {
		source, feeds = integer(row[0]), integer(row[1])
		if name := text(row[5]); integer(row[3]) != stateDropping && name != "" {
			n := store.CollectionName{Name: name, Version: int(integer(row[2]))}
			if integer(row[6]) == feeds {
				n.Version = 0
			}
			to = &receivers{generation: feeds, space: -feeds, epoch: integer(row[4]), name: n.String(), deltas: truth(row[7])}
		}
	}
	room := retractDocuments
	for _, part := range []func() (int, error){
		func() (int, error) { return t.retractContributions(document, to, since, room, woken) },
		func() (int, error) { return t.blankDeltas(document, room) },
		func() (int, error) { return t.retractReads(edge{source, w.id}, feeds, to, since, room, woken) },
		func() (int, error) { return t.dropSomeDeltas(document, room) },
	} {
		n, err := part()
		if err != nil {
			return false, err
		}
		if room -= n; room <= 0 {
			return false, nil
		}
	}
	return true, t.run.exec(dropDocument, document)
}

func (t *transaction) retractContributions(document int64, to *receivers, since sinceAt, room int, woken *[]store.Key) (n int, err error) {
	type contribution struct {
		key     string
		derived int64
	}
	var some []contribution
	err = t.run.each(contributorsPage, func(row []driver.Value) bool {
		some = append(some, contribution{text(row[0]), integer(row[1])})
		return len(some) < room
	}, document, "")
	if err != nil {
		return 0, err
	}
	for _, c := range some {
		if err := t.disturb(to, c.derived, &delta{since: since, made: -1}, woken); err != nil {
			return 0, err
		}
		if err := t.run.exec(retractContribution, document, c.key); err != nil {
			return 0, err
		}
	}
	return len(some), nil
}

// disturb gives a document a delta by its number, if its generation lives.
func (t *transaction) disturb(to *receivers, document int64, d *delta, woken *[]store.Key) error {
	if to == nil {
		return nil
	}
	r, err := t.reader(to, document)
	if err != nil || r == nil {
		return err
	}
	_, err = t.give(to, r, r.name, d, woken)
	return err
}

// blankDeltas removes contributions from deltas.
func (t *transaction) blankDeltas(document int64, room int) (n int, err error) {
	type sent struct{ document, seq int64 }
	var some []sent
	err = t.run.each(sentPage, func(row []driver.Value) bool {
		some = append(some, sent{integer(row[0]), integer(row[1])})
		return true
	}, document, int64(room))
	for _, s := range some {
		if err == nil {
			err = t.run.exec(blankDelta, s.document, s.seq)
		}
	}
	return len(some), err
}

func (t *transaction) retractReads(of edge, feeds int64, to *receivers, since sinceAt, room int, woken *[]store.Key) (n int, err error) {
	var some []int64
	err = t.run.each(readersPage, func(row []driver.Value) bool {
		some = append(some, integer(row[0]))
		return true
	}, of.collection, of.name, feeds, int64(0), int64(room))
	if err != nil {
		return 0, err
	}
	for _, reader := range some {
		if err := t.disturb(to, reader, &delta{since: since}, woken); err != nil {
			return 0, err
		}
		if err := t.run.exec(dropEdge, reader, of.collection, of.name); err != nil {
			return 0, err
		}
	}
	return len(some), nil
}

// dropSomeDeltas removes the first deltas of a document, and returns how many.
func (t *transaction) dropSomeDeltas(document int64, room int) (n int, err error) {
	last := int64(0)
	err = t.run.each(deltasOf, func(row []driver.Value) bool {
		last = integer(row[0])
		n++
		return true
	}, document, int64(room))
	if err != nil || n == 0 {
		return n, err
	}
	return n, t.run.exec(dropDeltas, document, last)
}
