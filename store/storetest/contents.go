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
		lines = append(lines, fmt.Sprintf("collection %s at version %d paused %t derived %t", c.Name, c.Version, c.Paused, c.Derived))
		for _, d := range collect(t, b.Scan(background, c.Name, "", store.WithViews)) {
			lines = append(lines, describe(d))
			for _, op := range collect(t, store.ReadOperations(background, b, d.Key, 1)) {
				lines = append(lines, describeOperation(d.Key, op))
			}
		}
		for _, c := range collect(t, b.Changes(background, c.Name, store.Cursor{}, store.WithoutViews)) {
			lines = append(lines, fmt.Sprintf("change of %s at %s: history %t", c.Document.Key, c.Cursor, c.History))
		}
		beside := besideOf(t, b, c.Name)
		names = append(names, beside...)
		for _, name := range beside {
			lines = append(lines, "generation "+name)
			for _, d := range collect(t, b.Scan(background, name, "", store.WithViews)) {
				lines = append(lines, describe(d))
			}
		}
		for _, d := range collect(t, b.Discards(background, c.Name)) {
			lines = append(lines, fmt.Sprintf("discard of %s operation %d by %q because %q at %s",
				d.Key, d.Seq, d.By, d.Why, d.At.UTC().Format(time.RFC3339Nano)))
		}
	}
	derived := derivedLines(t, b, collections, &names)
	lines = append(lines, derived...)
	for _, r := range collect(t, b.Runnable(background, names)) {
		lines = append(lines, fmt.Sprintf("runnable %s since %d", r.Key, r.Since.Position))
	}
	return lines
}

// besideOf returns the names of the generations of a collection that live beside the
// one that is served.
func besideOf(t rapid.TB, b store.Backend, collection string) []string {
	t.Helper()
	all, err := b.Generations(background, collection)
	if err != nil {
		t.Fatalf("Generations: %v", err)
	}
	var names []string
	for _, g := range all {
		if g.State != store.Serving && g.State != store.Dropping {
			names = append(names, store.CollectionName{Name: collection, Version: g.Version}.String())
		}
	}
	return names
}

func describeOperation(k store.Key, op store.Operation) string {
	return fmt.Sprintf("%s operation %d at %d by %d: history %t discarded %t id %q kind %q time %s meta %q body %s", k, op.Seq, op.Position, op.Writer,
		op.History, op.Discarded, op.ID, op.Kind, op.Time.UTC().Format(time.RFC3339Nano), op.Meta, brief(op.Body))
}

func describe(d store.Document) string {
	failure := "none"
	if d.Failure != nil {
		failure = fmt.Sprintf("at %d attempts %d from %s to %s park %t error %s stack %s",
			d.Failure.Seq, d.Failure.Attempts, d.Failure.First.UTC().Format(time.RFC3339Nano), d.Failure.Last.UTC().Format(time.RFC3339Nano),
			d.Failure.Park, brief([]byte(d.Failure.Error)), brief([]byte(d.Failure.Stack)))
	}
	return fmt.Sprintf("%s version %d head %d last %d applied %d deleted %t epoch %d changed %d contributions %d round %+v view %s since %d of %s failure %s lease of %q",
		d.Key, d.Version, d.Head, d.Last, d.Applied, d.Deleted, d.Epoch, d.Changed, d.Contributions, d.Round, brief(d.View),
		d.Since.Position, d.Since.Time.UTC().Format(time.RFC3339Nano), failure, d.Lease.Holder)
}

// brief quotes what is short.
func brief(b []byte) string {
	if len(b) > 64 {
		return fmt.Sprintf("%q… of %d bytes", b[:64], len(b))
	}
	return fmt.Sprintf("%q", b)
}
