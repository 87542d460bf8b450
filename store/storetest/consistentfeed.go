package storetest

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// places are the operations of the documents by their positions.
type places map[store.Position]store.Logged

// checkLog checks that the log has exactly the operations of the documents, in
// order of position.
func checkLog(t rapid.TB, b store.Backend, places places) {
	t.Helper()
	last := store.Position(0)
	n := 0
	for _, l := range collect(t, b.Log(background, store.Token{}, store.Token{})) {
		if l.Position <= last {
			t.Errorf("in the log position %d comes after %d", l.Position, last)
		}
		last = l.Position
		of, ok := places[l.Position]
		if !ok {
			t.Errorf("in the log operation %d of %s is at %d, but no document has one there", l.Seq, l.Key, l.Position)
		} else if got, want := describeLogged(l), describeLogged(of); got != want {
			t.Errorf("in the log there is\n\t%s\nin its document\n\t%s", got, want)
		}
		n++
	}
	if n != len(places) {
		t.Errorf("the log has %d operations, the documents have %d", n, len(places))
	}
}

// checkChanges checks that the feed has each document of a collection that has a
// view, is deleted or parked once, as it is, and no two changes with one cursor. A
// document of a mapping has no view.
func checkChanges(t rapid.TB, b store.Backend, collection string, cursors map[store.Cursor]store.Key) {
	t.Helper()
	missing := make(map[store.Key]store.Document)
	for _, d := range collect(t, b.Scan(background, collection, "", store.WithViews)) {
		missing[d.Key] = d
	}
	end, err := b.LastChange(background)
	if err != nil {
		t.Fatalf("LastChange: %v", err)
	}
	var last store.Cursor
	for _, c := range collect(t, b.Changes(background, collection, store.Cursor{}, store.WithViews)) {
		k := c.Document.Key
		if !last.Before(c.Cursor) || end.Before(c.Cursor) {
			t.Errorf("%s changed at %s, the one before it at %s, the last one at %s", k, c.Cursor, last, end)
		}
		last = c.Cursor
		if other, taken := cursors[c.Cursor]; taken {
			t.Errorf("%s and %s both changed at %s", other, k, c.Cursor)
		}
		cursors[c.Cursor] = k
		d, ok := missing[k]
		if !ok {
			t.Errorf("%s is in the feed of changes twice, or is not there", k)
		} else if got, want := describe(c.Document), describe(d); got != want {
			t.Errorf("in the feed of changes is\n\t%s\nscan returns\n\t%s", got, want)
		}
		delete(missing, k)
	}
	for k, d := range missing {
		if d.Applied > 0 && !strings.Contains(collection, "<") || d.Parked() {
			t.Errorf("%s has a view, is deleted or parked, and is not in the feed of changes", k)
		}
	}
}
