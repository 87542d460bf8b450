package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// placedCursor is a cursor and after which change of the model it is. With a minor
// number it is on the way to that change, a switch.
type placedCursor struct {
	store.Cursor
	change, minor, complete int
}

// compare compares the places.
func (c placedCursor) compare(d placedCursor) int {
	last := func(minor int) int {
		if minor == 0 {
			return math.MaxInt
		}
		return minor
	}
	return cmp.Or(cmp.Compare(c.change, d.change), cmp.Compare(last(c.minor), last(d.minor)))
}

// isHistory reports whether all operations of a document after one seq and up to
// another are history. There may be none beyond the head.
func (m *model) isHistory(k store.Key, after, upTo int64) bool {
	for i, position := range m.of(k) {
		if seq := int64(i + 1); seq > after && seq <= upTo && !m.log[position-1].history {
			return false
		}
	}
	return true
}

// readLog compares the log between two tokens.
func (m *modelRun) readLog(r *rapid.T) {
	some := rapid.SampledFrom(append([]store.Token{{}}, m.tokens...))
	from, to := some.Draw(r, "from"), some.Draw(r, "to")
	last := store.Position(len(m.log))
	if !to.IsZero() {
		last = m.cut(r, to)
	}
	var want, got []string
	for p := m.cut(r, from) + 1; p <= last; p++ {
		l := m.log[p-1]
		if l.key.ID == "" {
			continue
		}
		seq := slices.Index(m.of(l.key), p) + 1
		want = append(want, fmt.Sprint(p, l.key, seq, l.history, l.discarded, l.entry.ID, l.entry.Kind, l.entry.Meta, l.entry.Body))
	}
	for _, l := range collect(r, m.b.Log(background, from, to)) {
		got = append(got, fmt.Sprint(l.Position, l.Key, l.Seq, l.History, l.Discarded, l.ID, l.Kind, l.Meta, l.Body))
	}
	if !slices.Equal(got, want) {
		r.Fatalf("the log after %q and up to %q is\n%q, want\n%q", from, to, got, want)
	}
}

// feed compares the changes after a cursor that was returned before.
func (m *modelRun) feed(r *rapid.T) {
	name := rapid.SampledFrom(slices.Concat(m.names("notes"), m.names("tasks"))).Draw(r, "collection")
	m.compareChanges(r, name, rapid.SampledFrom(append([]placedCursor{{}}, m.cursors...)).Draw(r, "after"))
	last, err := m.b.LastChange(background)
	if err != nil {
		r.Fatalf("LastChange: %v", err)
	}
	for _, c := range m.cursors {
		if last.Before(c.Cursor) || c.change < m.changes && !c.Before(last) {
			r.Fatalf("the last change is %s, but %s was returned for change %d of %d", last, c.Cursor, c.change, m.changes)
		}
	}
	// More than one may stand for the same place, see [store.Feed.LastChange].
	m.learnCursor(r, placedCursor{last, m.changes, 0, m.changes})
}

// compareChanges compares the changes of a collection after a cursor.
func (m *modelRun) compareChanges(r *rapid.T, name string, after placedCursor) {
	from, begin := after, after.complete
	if c := m.collections[name]; c != nil && after.change < c.switched {
		from.change, from.minor, begin = c.switched, 0, 0
	} else if from.minor == 0 {
		from.minor = -1 // it is on no way
	} else {
		begin = 0
	}
	var places []placedCursor
	keys := make(map[placedCursor]store.Key)
	for _, k := range modelKeys {
		if bare(store.Key{Collection: name}).Collection != k.Collection {
			continue
		}
		k.Collection = name
		place := placedCursor{change: m.row(k).changed}
		switch {
		case place.change > from.change:
		case from.minor >= 0 && place.change > from.minor && place.change < from.change:
			place = placedCursor{change: from.change, minor: place.change}
		default:
			continue
		}
		keys[place] = k
		places = append(places, place)
	}
	slices.SortFunc(places, placedCursor.compare)
	var want, got []string
	for _, place := range places {
		k := keys[place]
		c := m.row(k)
		want = append(want, fmt.Sprintf("%s applied %d view %q deleted %t history %t", k, c.applied, c.view, c.deleted, c.news <= begin))
	}
	all := collect(r, m.b.Changes(background, name, after.Cursor, store.WithViews))
	for _, c := range all {
		d := c.Document
		got = append(got, fmt.Sprintf("%s applied %d view %q deleted %t history %t", d.Key, d.Applied, d.View, d.Deleted, c.History))
	}
	if !slices.Equal(got, want) {
		r.Fatalf("after %q, change %d of the model, changed\n%q, want\n%q", after.Cursor, after.change, got, want)
	}
	for i, c := range all {
		places[i].Cursor, places[i].complete = c.Cursor, begin
		if i == len(all)-1 && places[i].minor == 0 { // they are fewer than a page has
			places[i].complete = places[i].change
		}
		m.learnCursor(r, places[i])
	}
}

// learnCursor remembers the cursor of a change, which is the same each time and in
// the order of the changes.
func (m *modelRun) learnCursor(r *rapid.T, now placedCursor) {
	for _, c := range m.cursors {
		if order := c.compare(now); order < 0 && !c.Before(now.Cursor) || order > 0 && !now.Before(c.Cursor) {
			r.Fatalf("change %d has the cursor %s, change %d has %s", now.change, now.Cursor, c.change, c.Cursor)
		}
	}
	if !slices.Contains(m.cursors, now) {
		m.cursors = append(m.cursors, now)
	}
}
