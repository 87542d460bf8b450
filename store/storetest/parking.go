package storetest

import (
	"fmt"

	"github.com/refold-go/refold/store"
)

var parkingChecks = []check{
	{"a parked document is not runnable", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.park(key("a"))
		f.mustRun("b")
		d := f.load(key("a"))
		if !d.Parked() || !d.Dirty() || d.Since.Position != 1 {
			f.Errorf("document is %+v", d)
		}
		mustHaveFailed(f, d, store.Failure{Seq: 1, Attempts: 7, Error: "broken", Stack: "main.fold", Park: true})
	}},
	{"its last good view is kept", func(f *fixture) {
		f.append(key("a"), "1", "2", "3")
		f.fold(key("a"), 1)
		f.mustCommit(store.StillDirty, store.Commit{
			Key: key("a"), Loaded: 1, Applied: 2, View: []byte("good"), Failure: &store.Failure{Seq: 3, Attempts: 1, Error: "e", Park: true},
		})
		if d := f.load(key("a")); !d.Parked() || d.Applied != 2 || string(d.View) != "good" {
			f.Errorf("document is %+v", d)
		}
	}},
	{"a commit to a parked document is stale", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.park(key("a"))
		before := contents(f.T, f.b)
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Applied: 2, View: []byte("late")})
		f.mustCommit(store.Stale, store.Commit{Key: key("a")})
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Failure: &store.Failure{Seq: 1, Attempts: 1, Error: "late"}})
		f.mustContain(before)
	}},
	{"an append to a parked document leaves it parked", func(f *fixture) {
		f.append(key("a"), "1")
		f.park(key("a"))
		result := f.appendAll(store.Append{Key: key("a"), Entries: entries("2")}, store.Append{Key: key("b"), Entries: entries("1")})
		if !result.Documents[0].Parked || result.Documents[0].Head != 2 || result.Documents[1].Parked {
			f.Errorf("Append returned %+v", result.Documents)
		}
		f.mustRun("b")
		if d := f.load(key("a")); !d.Parked() || d.Head != 2 || d.Since.Position != 1 {
			f.Errorf("document is %+v", d)
		}
	}},
	{"parked documents are listed in order of id", func(f *fixture) {
		for _, id := range []string{"c", "B", "a", "ä", "d"} {
			f.append(key(id), "1", "2")
			f.fold(key(id), 1)
			if id != "d" {
				f.park(key(id))
			}
		}
		other := store.Key{Collection: "tasks", ID: "b"}
		f.append(other, "1")
		f.park(other)
		var ids []string
		for _, d := range collect(f.T, f.b.Parked(background, "notes")) {
			ids = append(ids, d.Key.ID)
			want := f.load(d.Key)
			if d.View != nil {
				f.Errorf("%s is listed with its view", d.Key)
			}
			want.View = nil
			if got := describe(d); got != describe(want) {
				f.Errorf("listed as\n\t%s\nloaded as\n\t%s", got, describe(want))
			}
		}
		if fmt.Sprint(ids) != "[B a c ä]" {
			f.Errorf("parked are %q", ids)
		}
		if n := len(collect(f.T, f.b.Parked(background, "unknown"))); n != 0 {
			f.Errorf("an unknown collection has %d parked documents", n)
		}
	}},
	{"resume makes runnable again and forgets attempts", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1")
		f.fold(key("a"), 1)
		f.park(key("a"))
		mustResume(f, 1, key("a"))
		f.mustRun("a", "b")
		d := f.load(key("a"))
		if d.Parked() || d.Failure != nil && d.Failure.Attempts != 0 || d.Applied != 1 || string(d.View) != string(viewOf(1)) {
			f.Errorf("document is %+v, failure %+v", d, d.Failure)
		}
		if wait := f.runnable()[0].Wait; wait != 0 {
			f.Errorf("a has to wait for %s", wait)
		}
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Loaded: 1, Applied: 2, View: []byte("2")})
	}},
	{"resume counts and touches only the parked", func(f *fixture) {
		for _, id := range []string{"a", "b", "c", "d"} {
			f.append(key(id), "1", "2")
		}
		f.park(key("a"))
		f.park(key("c"))
		f.mustCommit(store.StillDirty, store.Commit{Key: key("b"), Failure: &store.Failure{Seq: 1, Attempts: 5, Error: "e"}})
		before := f.load(key("b"))
		mustResume(f, 1, key("a"), key("b"), key("missing"), store.Key{Collection: "unknown", ID: "x"})
		mustResume(f, 0, key("a"))
		mustResume(f, 0)
		if got, want := describe(f.load(key("b"))), describe(before); got != want {
			f.Errorf("b is\n\t%s\nwas\n\t%s", got, want)
		}
		f.mustRun("a", "b", "d")
		mustResume(f, 1, key("c"), key("c"))
	}},
	{"a resumed document can be parked again", func(f *fixture) {
		f.append(key("a"), "1")
		for range 3 {
			f.park(key("a"))
			f.mustRun()
			mustResume(f, 1, key("a"))
			f.mustRun("a")
		}
	}},
	{"resuming survives reopening", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.park(key("a"))
		f.park(key("b"))
		mustResume(f, 1, key("b"))
		f.reopen()
		f.mustRun("b")
	}},
}

func mustResume(f *fixture, want int, keys ...store.Key) {
	f.Helper()
	if n, err := f.b.Resume(background, keys); err != nil || n != want {
		f.Fatalf("Resume of %v returned %d, %v, want %d", keys, n, err, want)
	}
}
