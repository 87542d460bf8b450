package storetest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/refold-go/refold/store"
)

var scanChecks = []check{
	{"documents come in order of the bytes of their ids", func(f *fixture) {
		ids := []string{"\x01", " ", "A", "B", "Z", "a", "a\x01", "a/b", "aa", "b", "\u007f", "é", "ü", "\uffff", "🜁", strings.Repeat("🜁", 128)}
		for i := range ids {
			f.append(key(ids[(i*7+3)%len(ids)]), "1")
		}
		f.append(store.Key{Collection: "tasks", ID: "a0"}, "1")
		mustScan(f, "notes", "", ids...)
		for i, id := range ids {
			mustScan(f, "notes", id, ids[i+1:]...)
		}
		mustScan(f, "notes", "a\x00", ids[6:]...)
		mustScan(f, "unknown", "")
	}},
	{"a document is returned as it can be loaded", func(f *fixture) {
		for _, id := range []string{"clean", "dirty", "failed", "new", "parked"} {
			f.append(key(id), "1", "2", "3")
		}
		f.fold(key("clean"), 3)
		f.fold(key("dirty"), 1)
		f.commit(store.Commit{Key: key("failed"), Applied: 1, View: []byte("1"), Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e"}})
		f.park(key("parked"))
		for _, parts := range []store.Parts{store.WithViews, store.WithoutViews} {
			documents := collect(f.T, f.b.Scan(background, "notes", "", parts))
			if len(documents) != 5 {
				f.Fatalf("scan returned %d documents", len(documents))
			}
			for _, d := range documents {
				want := f.load(d.Key)
				if parts == store.WithoutViews {
					want.View = nil
					if d.View != nil {
						f.Errorf("%s has a view", d.Key)
					}
				}
				if got := describe(d); got != describe(want) {
					f.Errorf("scanned as\n\t%s\nloaded as\n\t%s", got, describe(want))
				}
			}
		}
	}},
	{"documents that were there are returned once while others are appended", func(f *fixture) {
		n := small(300, 1500)
		appendMany(f, n)
		done := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				fresh := store.Append{Key: key(fmt.Sprintf("%06d+%d", i*7%n, i)), Entries: entries("1")}
				old := store.Append{Key: key(number(i * 11 % n)), Entries: entries("2")}
				if _, err := f.b.Append(background, []store.Append{fresh, old}); err != nil {
					f.Errorf("Append: %v", err)
					return
				}
			}
		})
		next, previous := 0, ""
		for d, err := range f.b.Scan(background, "notes", "", store.WithoutViews) {
			if err != nil {
				f.Error(err)
				break
			}
			if d.Key.ID <= previous {
				f.Errorf("%q came after %q", d.Key.ID, previous)
			}
			previous = d.Key.ID
			if !strings.Contains(d.Key.ID, "+") {
				if d.Key.ID != number(next) {
					f.Errorf("%q came instead of %q", d.Key.ID, number(next))
					break
				}
				next++
			}
		}
		close(done)
		group.Wait()
		if next != n {
			f.Errorf("%d documents were returned, want %d", next, n)
		}
	}},
	{"the loop may call any method", func(f *fixture) {
		n := small(300, 1200)
		appendMany(f, n)
		seen := 0
		for d, err := range f.b.Scan(background, "notes", "", store.WithViews) {
			if err != nil {
				f.Fatal(err)
			}
			if seen%100 == 0 {
				callEverything(f, d.Key)
			}
			seen++
		}
		if seen != n {
			f.Errorf("%d documents were returned, want %d", seen, n)
		}
	}},
	{"leaving the loop releases everything", func(f *fixture) {
		appendMany(f, small(20, 200))
		for range 50 {
			for _, err := range f.b.Scan(background, "notes", "", store.WithViews) {
				if err != nil {
					f.Fatal(err)
				}
				break
			}
		}
		callEverything(f, key(number(3)))
	}},
}

func mustScan(f *fixture, collection, after string, want ...string) {
	f.Helper()
	var got []string
	for _, d := range collect(f.T, f.b.Scan(background, collection, after, store.WithoutViews)) {
		got = append(got, d.Key.ID)
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		f.Fatalf("scan after %q returned %q, want %q", after, got, want)
	}
}
