package storetest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// checkDerived is checkConsistent for a derived collection: that its documents have the
// deltas that are not applied and no others, that they are dirty since the lowest of
// these, that contributions are as many as is said, in order, and of documents that the
// mappings have, and what was read is in order.
func checkDerived(t rapid.TB, b store.Backend, in store.Collection, collections []store.Collection, cursors map[store.Cursor]store.Key) {
	t.Helper()
	names := append([]string{in.Name}, besideOf(t, b, in.Name)...)
	for _, name := range names {
		n, err := store.ParseCollection(name)
		if err != nil {
			t.Fatalf("the name of a generation: %v", err)
		}
		version := n.Version
		if name == in.Name {
			version = in.Version
		} else {
			cursors = make(map[store.Cursor]store.Key)
		}
		sources := make(map[string]bool) // ids of documents of mappings
		for _, c := range collections {
			mapping := n
			mapping.Source = c.Name
			checkRows(t, b, store.Collection{Name: mapping.String(), Version: version, Paused: in.Paused}, func(d store.Document) {
				sources[d.Key.ID] = true
				checkDeltas(t, b, d)
				if d.View != nil || d.Deleted || d.Contributions != 0 || d.Round != (store.Round{}) && (d.Round.To <= d.Applied || d.Round.To > d.Head) {
					t.Errorf("the document of a mapping is %+v", d)
				}
			})
			checkChanges(t, b, mapping.String(), make(map[store.Cursor]store.Key))
		}
		checkRows(t, b, store.Collection{Name: name, Version: version, Paused: in.Paused}, func(d store.Document) {
			checkDeltas(t, b, d)
			if (d.Applied == 0 || d.Deleted) != (d.View == nil) || d.Round != (store.Round{}) {
				t.Errorf("the derived document is %+v", d)
			}
			checkMade(t, b, d, sources)
		})
		checkChanges(t, b, name, cursors)
	}
}

// checkDeltas compares a document with its deltas.
func checkDeltas(t rapid.TB, b store.Backend, d store.Document) {
	t.Helper()
	deltas := collect(t, store.ReadOperations(background, b, d.Key, 1))
	last := d.Applied
	if n := len(deltas); n > 0 {
		last = deltas[n-1].Seq
	}
	few := d.Head-d.Applied != int64(len(deltas)) // one stands for some
	if d.Head < 1 || d.Applied < 0 || d.Head != last || few && len(deltas) > 2 {
		t.Fatalf("%s has head %d, applied %d and the deltas %+v", d.Key, d.Head, d.Applied, deltas)
	}
	lowest := store.Since{}
	for i, op := range deltas {
		if !few && op.Seq != d.Applied+int64(i)+1 || op.Seq <= d.Applied || few && len(op.Body) > 0 {
			t.Errorf("delta %d after %d of %s is %+v", i, d.Applied, d.Key, op)
		}
		if op.Position < 1 || op.Discarded || op.ID != "" || op.Kind != "" || len(op.Meta) > 0 {
			t.Errorf("delta %d of %s is %+v", i, d.Key, op)
		}
		if i == 0 || op.Position < lowest.Position {
			lowest = store.Since{Position: op.Position, Time: op.Time}
		}
	}
	if d.Since.Position != lowest.Position || !d.Since.Time.Equal(lowest.Time) {
		t.Errorf("%s is since %v, the lowest of its deltas is %v", d.Key, d.Since, lowest)
	}
	if n := len(deltas); n > 0 && d.Last < deltas[n-1].Position || d.Last < 1 {
		t.Errorf("%s has its last delta at %d, by its document at %d", d.Key, deltas[n-1].Position, d.Last)
	}
}

// checkMade looks at what contributes to a derived document, and what it has read.
func checkMade(t rapid.TB, b store.Backend, d store.Document, sources map[string]bool) {
	t.Helper()
	all, err := b.Contributions(background, d.Key, store.Contributor{}, store.Budget{})
	if err != nil {
		t.Fatalf("Contributions: %v", err)
	}
	if int64(len(all)) != d.Contributions {
		t.Errorf("%s has %d contributions, by its document %d", d.Key, len(all), d.Contributions)
	}
	for i, c := range all {
		if i > 0 && compareContributors(all[i-1].Contributor, c.Contributor) >= 0 {
			t.Errorf("to %s contributes %v after %v", d.Key, c.Contributor, all[i-1].Contributor)
		}
		if !sources[c.Source] {
			t.Errorf("to %s contributes %v, of which no mapping has a document", d.Key, c.Contributor)
		}
	}
	reads, err := b.Reads(background, d.Key)
	if err != nil {
		t.Fatalf("Reads: %v", err)
	}
	if !slices.IsSortedFunc(reads, compareReads) {
		t.Errorf("%s has read %v, which is not in order", d.Key, reads)
	}
}
