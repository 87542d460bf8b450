package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/refold-go/refold/store"
)

var eraserChecks = []check{
	{"a forgotten document is gone", func(f *fixture) {
		fill := func(k store.Key) {
			f.append(k, "1", "2", "3")
			f.fold(k, 1)
			f.discard(k, 3)
			f.park(k)
		}
		f.append(key("b"), "1")
		before := contents(f.T, f.b)
		fill(key("a"))
		f.forget(key("a"))
		before[0] = "end " + f.end().String() // the log does not end earlier
		f.mustContain(before)
		if d := f.load(key("a")); d.Head != 0 || d.View != nil || d.Failure != nil {
			f.Errorf("document is %+v", d)
		}
		if ops := f.operations(key("a")); len(ops) != 0 {
			f.Errorf("it has %d operations", len(ops))
		}
		mustResolve(f, f.end(), "[0 1]", key("a"), key("b"))
		mustResume(f, 0, key("a"))
		f.mustRun("b")
		if p := f.append(key("b"), "2").Operations[0].Position; p != 5 {
			f.Errorf("the next position is %d, want 5", p)
		}
	}},
	{"its id is refused for ever", func(f *fixture) {
		f.append(key("a"), "1")
		f.forget(key("a"))
		for _, a := range []store.Append{
			{Key: key("a"), Entries: entries("1")},
			{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{named("1")}},
			{Key: key("a"), Head: new(int64(7)), Entries: entries("1")},
		} {
			for _, call := range [][]store.Append{{a}, {a, {Key: key("b"), Entries: entries("1")}}, {{Key: key("b"), Entries: entries("1")}, a}} {
				if err := f.refuse(store.ErrForgotten, call...); errors.Is(err, store.ErrInDoubt) {
					f.Errorf("%v is in doubt", err)
				}
			}
		}
		mustBeForgotten(f, true, key("a"))
		f.append(store.Key{Collection: "tasks", ID: "a"}, "the id in another collection")
		f.append(key("A"), "another id")
	}},
	{"an id can be forgotten before it is used", func(f *fixture) {
		f.forget(key("a"))
		f.forget(store.Key{Collection: "unknown", ID: "a"})
		mustHaveCollections(f)
		f.refuse(store.ErrForgotten, store.Append{Key: key("a"), Entries: entries("1")})
		f.refuse(store.ErrForgotten, store.Append{Key: store.Key{Collection: "unknown", ID: "a"}, Entries: entries("1")})
		mustHaveCollections(f)
		mustBeForgotten(f, false, key("b"), store.Key{Collection: "tasks", ID: "a"})
	}},
	{"forgetting again changes nothing", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.forget(key("a"))
		before := contents(f.T, f.b)
		f.forget(key("a"))
		f.mustContain(before)
		mustBeForgotten(f, true, key("a"))
	}},
	{"F20_ARunInHandDoesNotBringItBack", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1")
		d := f.load(key("a"))
		run := store.Commit{Key: key("a"), Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("late")}
		f.forget(key("a"))
		outcomes := f.commit(run, store.Commit{Key: key("b"), Applied: 1, View: []byte("b")})
		if fmt.Sprint(outcomes) != "[stale done]" {
			f.Errorf("outcomes are %v", outcomes)
		}
		run.Applied, run.Failure = run.Loaded, &store.Failure{Seq: 1, Attempts: 1, Park: true}
		f.mustCommit(store.Stale, run)
		mustScan(f, "notes", "", "b")
		if err := f.b.Discard(background, discardOf(key("a"), 1)); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("Discard: %v", err)
		}
	}},
	{"a key that breaks a rule is refused", func(f *fixture) {
		for _, k := range []store.Key{{}, key(""), key("\xff"), {Collection: "No", ID: "a"}} {
			f.unchangedBy(store.ErrInvalid, func() error { return f.b.Forget(background, k) })
		}
	}},
	{"long documents are forgotten while others append", func(f *fixture) {
		n := small(1500, 4000)
		a := store.Append{Key: key("a"), Entries: make([]store.Entry, n)}
		f.appendAll(a)
		done := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				fresh := store.Append{Key: key(fmt.Sprint("new", i)), Entries: entries("1", "2")}
				if _, err := f.b.Append(background, []store.Append{fresh}); err != nil {
					f.Errorf("Append: %v", err)
					return
				}
			}
		})
		f.forget(key("a"))
		close(done)
		group.Wait()
		for _, d := range collect(f.T, f.b.Scan(background, "notes", "", store.WithoutViews)) {
			if d.Head != 2 || len(f.operations(d.Key)) != 2 {
				f.Errorf("document is %+v", d)
			}
		}
	}},
	{"what was forgotten survives reopening", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.forget(key("a"))
		before := contents(f.T, f.b)
		f.reopen()
		f.mustContain(before)
		mustBeForgotten(f, true, key("a"))
		f.refuse(store.ErrForgotten, store.Append{Key: key("a"), Entries: entries("1")})
	}},
	{"a dropped collection is gone", func(f *fixture) {
		task := store.Key{Collection: "tasks", ID: "a"}
		f.append(task, "1")
		before := contents(f.T, f.b)
		mustRegister(f, "notes", 3)
		n := small(300, 1200)
		appendMany(f, n)
		f.append(key("a"), "1", "2")
		f.discard(key("a"), 2)
		f.fold(key("a"), 1)
		f.park(key("a"))
		f.pause("notes", true)
		f.drop("notes")
		before[0] = "end " + f.end().String()
		f.mustContain(before)
		if d := f.load(key("a")); d.Head != 0 {
			f.Errorf("document is %+v", d)
		}
		if c := mustCount(f, "notes"); c != (store.Counts{}) {
			f.Errorf("counts are %+v", c)
		}
		mustResolve(f, f.end(), "[0 1]", key("a"), task)
	}},
	{"an append makes it again, and runs in hand are stale", func(f *fixture) {
		mustRegister(f, "notes", 3)
		f.append(key("a"), "1")
		f.pause("notes", true)
		f.discard(key("a"), 1)
		d := f.load(key("a"))
		run := store.Commit{Key: key("a"), Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("late")}
		for range 3 {
			f.drop("notes")
			f.mustCommit(store.Stale, run)
			f.append(key("a"), "other")
			f.mustCommit(store.Stale, run)
			mustHaveCollections(f, store.Collection{Name: "notes"})
			f.mustRun("a")
			d := f.load(key("a"))
			run = store.Commit{Key: key("a"), Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("late")}
		}
		f.fold(key("a"), 1)
		mustRegister(f, "notes", 1)
	}},
	{"ids that were forgotten in it stay refused", func(f *fixture) {
		f.append(key("a"), "1")
		f.forget(key("a"))
		f.drop("notes")
		f.refuse(store.ErrForgotten, store.Append{Key: key("a"), Entries: entries("1")})
		f.append(key("b"), "1")
		f.refuse(store.ErrForgotten, store.Append{Key: key("a"), Entries: entries("1")})
	}},
	{"dropping what is not there changes nothing", func(f *fixture) {
		f.append(key("a"), "1")
		before := contents(f.T, f.b)
		f.drop("unknown")
		f.drop("No collection")
		f.mustContain(before)
		f.drop("notes")
		f.drop("notes")
		mustHaveCollections(f)
	}},
	{"a drop survives reopening", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(store.Key{Collection: "tasks", ID: "a"}, "1")
		f.drop("notes")
		before := contents(f.T, f.b)
		f.reopen()
		f.mustContain(before)
	}},
}

func mustBeForgotten(f *fixture, want bool, keys ...store.Key) {
	f.Helper()
	for _, k := range keys {
		if got, err := f.b.Forgotten(background, k); err != nil || got != want {
			f.Errorf("Forgotten %s: %t, %v, want %t", k, got, err, want)
		}
	}
}
