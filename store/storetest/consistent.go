package storetest

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// checkConsistent checks what must hold of the contents of a store at any time:
// seqs are dense, and so are positions if no document was removed and there is one
// writer, the log has the operations of the documents and nothing else, no view is
// beyond its head, what changed is in the feed of changes once, a document that is
// dirty is either runnable or parked or paused, the counts are those of the
// documents, and each operation that is discarded is on the record. All but the log
// holds of each generation that lives.
func checkConsistent(t rapid.TB, b store.Backend, removed bool) {
	t.Helper()
	collections, err := b.Collections(background)
	if err != nil {
		t.Fatalf("Collections: %v", err)
	}
	if c, ok := b.(store.DerivedChecker); ok {
		if err := c.CheckDerived(background); err != nil {
			t.Errorf("CheckDerived: %v", err)
		}
	}
	places := make(places)
	cursors := make(map[store.Cursor]store.Key)
	for _, c := range collections {
		if c.Derived {
			checkDerived(t, b, c, collections, cursors)
			continue
		}
		checkCollection(t, b, c, places)
		checkChanges(t, b, c.Name, cursors)
		for _, name := range besideOf(t, b, c.Name) {
			n, err := store.ParseCollection(name)
			if err != nil {
				t.Fatalf("the name of a generation: %v", err)
			}
			beside := make(map[store.Position]store.Logged)
			checkCollection(t, b, store.Collection{Name: name, Version: n.Version, Paused: c.Paused}, beside)
			checkChanges(t, b, name, make(map[store.Cursor]store.Key))
			for p := range beside {
				if of, ok := places[p]; !ok || of.Key.ID != beside[p].Key.ID || of.Key.Collection != c.Name {
					t.Errorf("%s has an operation at %d, its collection has that of %s", name, p, of.Key)
				}
			}
		}
	}
	checkLog(t, b, places)
	if _, many := b.(store.Writers); many || removed {
		return
	}
	for p := range store.Position(len(places)) {
		if _, taken := places[p+1]; !taken {
			t.Errorf("the log has %d operations, but none at position %d", len(places), p+1)
		}
	}
}

// checkCollection is checkConsistent for one collection; it adds to places which
// operations are where in the log.
func checkCollection(t rapid.TB, b store.Backend, in store.Collection, places places) {
	t.Helper()
	discarded := make(map[store.Key]map[int64]bool)
	for _, d := range collect(t, b.Discards(background, bare(store.Key{Collection: in.Name}).Collection)) {
		k := store.Key{Collection: in.Name, ID: d.Key.ID}
		if discarded[k] == nil {
			discarded[k] = make(map[int64]bool)
		}
		discarded[k][d.Seq] = true
	}
	checkRows(t, b, in, func(d store.Document) {
		operations := collect(t, store.ReadOperations(background, b, d.Key, 1))
		checkDocument(t, d, operations)
		for _, op := range operations {
			if op.Discarded != discarded[d.Key][op.Seq] {
				t.Errorf("operation %d of %s: discarded %t, on the record %t", op.Seq, d.Key, op.Discarded, !op.Discarded)
			}
			delete(discarded[d.Key], op.Seq)
			if other, taken := places[op.Position]; taken {
				t.Errorf("%s and %s are both at position %d", other.Key, d.Key, op.Position)
			}
			places[op.Position] = store.Logged{Key: d.Key, Operation: op}
		}
	})
	for k, left := range discarded {
		if strings.Contains(in.Name, "@") {
			break // a generation that is being built may not have the document yet
		}
		for seq := range left {
			t.Errorf("operation %d of %s is on the record of discards, but is not there", seq, k)
		}
	}
}

// checkRows calls look with each document of a name, and checks that what is told of
// these in other ways is so.
func checkRows(t rapid.TB, b store.Backend, in store.Collection, look func(store.Document)) {
	t.Helper()
	name := in.Name
	var counts store.Counts
	runnable := make(map[store.Key]store.Since)
	last := store.Position(0)
	for _, r := range collect(t, b.Runnable(background, []string{name})) {
		if r.Since.Position < last {
			t.Errorf("runnable %s is since %d, and comes after one since %d", r.Key, r.Since.Position, last)
		}
		last = r.Since.Position
		if _, twice := runnable[r.Key]; twice {
			t.Errorf("runnable %s is returned twice", r.Key)
		}
		runnable[r.Key] = r.Since
	}
	parked := make(map[store.Key]bool)
	for _, d := range collect(t, b.Parked(background, name)) {
		parked[d.Key] = true
	}
	previous := ""
	for _, d := range collect(t, b.Scan(background, name, "", store.WithViews)) {
		if d.Version != in.Version {
			t.Errorf("%s has version %d, its collection %d", d.Key, d.Version, in.Version)
		}
		if d.Key.ID <= previous {
			t.Errorf("scan returned %q after %q", d.Key.ID, previous)
		}
		previous = d.Key.ID
		look(d)
		addTo(&counts, d)
		since, runs := runnable[d.Key]
		delete(runnable, d.Key)
		if runs != (d.Dirty() && !d.Parked() && !in.Paused) {
			t.Errorf("%s: dirty %t, parked %t, paused %t, runnable %t", d.Key, d.Dirty(), d.Parked(), in.Paused, runs)
		}
		if runs && (since.Position != d.Since.Position || !since.Time.Equal(d.Since.Time)) {
			t.Errorf("%s is runnable since %v and dirty since %v", d.Key, since, d.Since)
		}
		if parked[d.Key] != d.Parked() {
			t.Errorf("%s: parked %t, listed as parked %t", d.Key, d.Parked(), parked[d.Key])
		}
		delete(parked, d.Key)
	}
	for k := range runnable {
		t.Errorf("%s is runnable, but scan does not return it", k)
	}
	for k := range parked {
		t.Errorf("%s is parked, but scan does not return it", k)
	}
	got, err := b.Count(background, name)
	if err != nil {
		t.Fatalf("Count: %v", err)
	}
	for _, o := range []struct{ got, want *store.Runnable }{{&got.Oldest, &counts.Oldest}, {&got.OldestParked, &counts.OldestParked}} {
		// Which one it is among those that share a since is not told.
		if o.got.Since.Position == o.want.Since.Position && o.got.Key.Collection == o.want.Key.Collection {
			o.want.Key = o.got.Key
		}
	}
	if g, w := describeCounts(got), describeCounts(counts); g != w {
		t.Errorf("counts of %s are\n\t%s\nits documents\n\t%s", name, g, w)
	}
}

// addTo counts a document. What waits may have ceased to since, and is left out.
func addTo(n *store.Counts, d store.Document) {
	oldest := &n.Oldest
	switch {
	case d.Parked():
		n.Parked++
		oldest = &n.OldestParked
	case d.Dirty():
		n.Dirty++
	}
	if d.Dirty() && (oldest.Key.ID == "" || d.Since.Position < oldest.Since.Position) {
		*oldest = store.Runnable{Key: d.Key, Since: d.Since}
	}
}

func describeCounts(n store.Counts) string {
	return fmt.Sprintf("dirty %d parked %d oldest %s since %d of %s, of the parked %s since %d of %s", n.Dirty, n.Parked,
		n.Oldest.Key, n.Oldest.Since.Position, n.Oldest.Since.Time.UTC(),
		n.OldestParked.Key, n.OldestParked.Since.Position, n.OldestParked.Since.Time.UTC())
}

// checkDocument compares a document with its operations.
func checkDocument(t rapid.TB, d store.Document, operations []store.Operation) {
	t.Helper()
	if d.Head < 1 || d.Head != int64(len(operations)) {
		t.Fatalf("%s has head %d and %d operations", d.Key, d.Head, len(operations))
	}
	position := store.Position(0)
	ids := make(map[string]bool)
	for i, op := range operations {
		if op.Seq != int64(i+1) {
			t.Errorf("operation %d of %s has seq %d", i+1, d.Key, op.Seq)
		}
		if op.Position <= position {
			t.Errorf("operation %d of %s is at %d, the one before it at %d", op.Seq, d.Key, op.Position, position)
		}
		position = op.Position
		if op.ID != "" && ids[op.ID] {
			t.Errorf("%s has two operations with the id %q", d.Key, op.ID)
		}
		ids[op.ID] = true
	}
	if d.Last != position {
		t.Errorf("%s has its last operation at %d, by its document at %d", d.Key, position, d.Last)
	}
	if d.Applied < 0 || d.Applied > d.Head {
		t.Fatalf("%s has applied %d and head %d", d.Key, d.Applied, d.Head)
	}
	if (d.Applied == 0 || d.Deleted) != (d.View == nil) {
		t.Errorf("%s has applied %d, deleted %t, and the view %v", d.Key, d.Applied, d.Deleted, d.View)
	}
	if d.Applied == 0 && d.Deleted {
		t.Errorf("%s is deleted by no operation", d.Key)
	}
	switch {
	case !d.Dirty() && d.Since != store.Since{}:
		t.Errorf("%s is not dirty, but since %v", d.Key, d.Since)
	case d.Dirty() && d.Since.Position != operations[d.Applied].Position:
		t.Errorf("%s is dirty since %d, its first operation without a view is at %d",
			d.Key, d.Since.Position, operations[d.Applied].Position)
	case d.Dirty() && d.Since.Time.IsZero():
		t.Errorf("%s is dirty since no time", d.Key)
	}
}
