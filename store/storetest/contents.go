package storetest

import (
	"fmt"
	"iter"
	"time"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// mostCollected ends a stream that would not end by itself.
const mostCollected = 1 << 20

// collect returns all elements of a stream, which must not fail.
func collect[T any](t rapid.TB, stream iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for element, err := range stream {
		if err != nil {
			t.Fatalf("after %d elements: %v", len(all), err)
		}
		if all = append(all, element); len(all) > mostCollected {
			t.Fatalf("the stream does not end")
		}
	}
	return all
}

// contents describes all that is in a store, a line for each thing. What only
// time changes is left out.
func contents(t rapid.TB, b store.Backend) []string {
	t.Helper()
	collections, err := b.Collections(background)
	if err != nil {
		t.Fatalf("Collections: %v", err)
	}
	end, err := b.End(background)
	if err != nil {
		t.Fatalf("End: %v", err)
	}
	lines := []string{"end " + end.String()}
	var names []string
	for _, c := range collections {
		names = append(names, c.Name)
		lines = append(lines, fmt.Sprintf("collection %s at version %d", c.Name, c.Version))
		for _, d := range collect(t, b.Scan(background, c.Name, "", store.WithViews)) {
			lines = append(lines, describe(d))
			for _, op := range collect(t, store.ReadOperations(background, b, d.Key, 1)) {
				lines = append(lines, fmt.Sprintf("%s operation %d at %d: id %q kind %q time %s meta %q body %s",
					d.Key, op.Seq, op.Position, op.ID, op.Kind, op.Time.UTC().Format(time.RFC3339Nano), op.Meta, brief(op.Body)))
			}
		}
	}
	for _, r := range collect(t, b.Runnable(background, names)) {
		lines = append(lines, fmt.Sprintf("runnable %s since %d", r.Key, r.Since.Position))
	}
	return lines
}

func describe(d store.Document) string {
	failure := "none"
	if d.Failure != nil {
		failure = fmt.Sprintf("at %d attempts %d park %t error %s stack %s",
			d.Failure.Seq, d.Failure.Attempts, d.Failure.Park, brief([]byte(d.Failure.Error)), brief([]byte(d.Failure.Stack)))
	}
	return fmt.Sprintf("%s head %d last %d applied %d epoch %d view %s since %d of %s failure %s",
		d.Key, d.Head, d.Last, d.Applied, d.Epoch, brief(d.View),
		d.Since.Position, d.Since.Time.UTC().Format(time.RFC3339Nano), failure)
}

// brief quotes what is short.
func brief(b []byte) string {
	if len(b) > 64 {
		return fmt.Sprintf("%q… of %d bytes", b[:64], len(b))
	}
	return fmt.Sprintf("%q", b)
}

// checkConsistent checks what must hold of the contents of a store at any time:
// seqs and positions are dense, no view is beyond its head, and a document is
// dirty exactly if it is either runnable or parked.
func checkConsistent(t rapid.TB, b store.Backend) {
	t.Helper()
	collections, err := b.Collections(background)
	if err != nil {
		t.Fatalf("Collections: %v", err)
	}
	places := make(map[store.Position]store.Key)
	for _, c := range collections {
		checkCollection(t, b, c.Name, places)
	}
	for p := range store.Position(len(places)) {
		if _, taken := places[p+1]; !taken {
			t.Errorf("the log has %d operations, but none at position %d", len(places), p+1)
		}
	}
}

// checkCollection is checkConsistent for one collection; it adds to places which
// document is where in the log.
func checkCollection(t rapid.TB, b store.Backend, name string, places map[store.Position]store.Key) {
	t.Helper()
	runnable := make(map[store.Key]store.Since)
	last := store.Position(0)
	for _, r := range collect(t, b.Runnable(background, []string{name})) {
		if r.Since.Position <= last {
			t.Errorf("runnable %s is since %d, and comes after one since %d", r.Key, r.Since.Position, last)
		}
		last = r.Since.Position
		runnable[r.Key] = r.Since
	}
	parked := make(map[store.Key]bool)
	for _, d := range collect(t, b.Parked(background, name)) {
		parked[d.Key] = true
	}
	previous := ""
	for _, d := range collect(t, b.Scan(background, name, "", store.WithViews)) {
		if d.Key.ID <= previous {
			t.Errorf("scan returned %q after %q", d.Key.ID, previous)
		}
		previous = d.Key.ID
		operations := collect(t, store.ReadOperations(background, b, d.Key, 1))
		checkDocument(t, d, operations)
		for _, op := range operations {
			if other, taken := places[op.Position]; taken {
				t.Errorf("%s and %s are both at position %d", other, d.Key, op.Position)
			}
			places[op.Position] = d.Key
		}
		since, runs := runnable[d.Key]
		delete(runnable, d.Key)
		if runs != (d.Dirty() && !d.Parked()) {
			t.Errorf("%s: dirty %t, parked %t, runnable %t", d.Key, d.Dirty(), d.Parked(), runs)
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
	if d.Applied == 0 && d.View != nil {
		t.Errorf("%s has a view of nothing", d.Key)
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
