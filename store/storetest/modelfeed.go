package storetest

import (
	"cmp"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// placedCursor is a cursor and after which change of the model it is.
type placedCursor struct {
	store.Cursor
	change, complete int
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
	name := rapid.SampledFrom([]string{"notes", "tasks"}).Draw(r, "collection")
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
	m.learnCursor(r, placedCursor{last, m.changes, m.changes})
}

// compareChanges compares the changes of a collection after a cursor.
func (m *modelRun) compareChanges(r *rapid.T, name string, after placedCursor) {
	var keys []store.Key
	for _, k := range modelKeys {
		if k.Collection == name && m.committed[k].changed > after.change {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b store.Key) int { return cmp.Compare(m.committed[a].changed, m.committed[b].changed) })
	var want, got []string
	for _, k := range keys {
		c := m.committed[k]
		want = append(want, fmt.Sprintf("%s applied %d view %q deleted %t history %t", k, c.applied, c.view, c.deleted, c.news <= after.complete))
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
		changed, complete := m.committed[keys[i]].changed, after.complete
		if i == len(all)-1 { // they are fewer than a page has
			complete = changed
		}
		m.learnCursor(r, placedCursor{c.Cursor, changed, complete})
	}
}

// learnCursor remembers the cursor of a change, which is the same each time and in
// the order of the changes.
func (m *modelRun) learnCursor(r *rapid.T, now placedCursor) {
	for _, c := range m.cursors {
		if c.change < now.change && !c.Before(now.Cursor) || c.change > now.change && !now.Before(c.Cursor) {
			r.Fatalf("change %d has the cursor %s, change %d has %s", now.change, now.Cursor, c.change, c.Cursor)
		}
	}
	if !slices.Contains(m.cursors, now) {
		m.cursors = append(m.cursors, now)
	}
}
