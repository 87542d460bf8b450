package storetest

import (
	"errors"

	"github.com/refold-go/refold/store"
)

var feedChecks = []check{
	{"each document comes as it is now, in order of its last change", func(f *fixture) {
		for _, id := range []string{"a", "b", "c", "never"} {
			f.append(key(id), "1", "2")
		}
		f.fold(key("c"), 1)
		f.fold(key("a"), 1)
		f.fold(key("b"), 2)
		f.fold(key("c"), 2)
		f.park(key("a"))
		mustChange(f, store.Cursor{}, "b c a")
		for _, parts := range []store.Parts{store.WithViews, store.WithoutViews} {
			for _, c := range collect(f.T, f.b.Changes(background, "notes", store.Cursor{}, parts)) {
				want := f.load(c.Document.Key)
				if parts == store.WithoutViews {
					want.View = nil
				}
				if got := describe(c.Document); got != describe(want) {
					f.Errorf("told as\n\t%s\nloaded as\n\t%s", got, describe(want))
				}
			}
		}
	}},
	{"only what changed after the cursor comes", func(f *fixture) {
		cursors := []store.Cursor{{}}
		for _, id := range []string{"a", "b", "a", "c", "b"} {
			f.append(key(id), "1")
			f.fold(key(id), f.load(key(id)).Head)
			cursors = append(cursors, lastOf(mustChanges(f, store.Cursor{})))
		}
		for i, want := range []string{"a c b", "a c b", "a c b", "c b", "b", ""} {
			mustChange(f, cursors[i], want)
			if i > 0 && !cursors[i-1].Before(cursors[i]) {
				f.Errorf("cursor %s is not before %s, which came later", cursors[i-1], cursors[i])
			}
		}
	}},
	{"collections are told apart, and have one counter", func(f *fixture) {
		task := store.Key{Collection: "tasks", ID: "t"}
		f.append(key("a"), "1", "2")
		f.append(task, "1")
		f.fold(key("a"), 1)
		f.fold(task, 1)
		f.fold(key("a"), 2)
		mustChange(f, store.Cursor{}, "a")
		tasks := collect(f.T, f.b.Changes(background, "tasks", store.Cursor{}, store.WithViews))
		if len(tasks) != 1 || tasks[0].Document.Key != task {
			f.Fatalf("changes of tasks are %+v", tasks)
		}
		mustChange(f, tasks[0].Cursor, "a")
		if tasks[0].Cursor == lastOf(mustChanges(f, store.Cursor{})) {
			f.Errorf("two changes have the cursor %s", tasks[0].Cursor)
		}
		for range f.b.Changes(background, "unknown", store.Cursor{}, store.WithViews) {
			f.Errorf("an unknown collection has changes")
		}
	}},
	{"what neither moves applied nor parks is no change", func(f *fixture) {
		for _, id := range []string{"a", "b"} {
			f.append(key(id), "1", "2", "3")
			f.fold(key(id), 1)
		}
		f.park(key("b"))
		before, last := mustChanges(f, store.Cursor{}), lastChange(f)
		failed := store.Commit{Key: key("a"), Loaded: 1, Applied: 1, View: []byte("x"), History: true, Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e"}}
		f.mustCommit(store.StillDirty, failed)
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Loaded: 0, Applied: 2, View: []byte("x")})
		f.append(key("a"), "4")
		f.append(key("b"), "4")
		f.discard(key("a"), 3)
		mustResume(f, 1, key("b"))
		f.pause("notes", true)
		f.pause("notes", false)
		after := mustChanges(f, store.Cursor{})
		for i, c := range after {
			if c.Cursor != before[i].Cursor || c.Document.Key != before[i].Document.Key {
				f.Errorf("%s is at %s, before it was %s at %s", c.Document.Key, c.Cursor, before[i].Document.Key, before[i].Cursor)
			}
		}
		if now := lastChange(f); now.Before(last) { // a number may be left out
			f.Errorf("the last change was %s and is %s", last, now)
		}
		mustChange(f, last, "")
	}},
	{"parking is a change, and never history", func(f *fixture) {
		f.appendAll(past(key("a"), entries("1", "2")...))
		f.append(key("b"), "1")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: viewOf(1), History: true})
		before := lastChange(f)
		f.park(key("b")) // it has no view
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Loaded: 1, Applied: 1, History: true, Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e", Park: true}})
		for _, from := range []store.Cursor{{}, before} {
			for _, c := range mustChange(f, from, "b a") {
				if !c.Document.Parked() || c.History {
					f.Errorf("change is %+v", c)
				}
			}
		}
		last := lastChange(f)
		mustResume(f, 2, key("a"), key("b"))
		mustChange(f, last, "")
		mustChange(f, store.Cursor{}, "b a")
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Loaded: 1, Applied: 2, View: viewOf(2), History: true})
		if c := mustChange(f, last, "a")[0]; !c.History {
			f.Error("what came after parking is not history")
		}
		if c := mustChange(f, before, "b a")[1]; c.History {
			f.Error("parking is forgotten")
		}
	}},
	{"a run that moves applied and parks is one change", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: []byte("1"), Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e", Park: true}})
		all := mustChange(f, store.Cursor{}, "a")
		if all[0].Cursor != lastChange(f) {
			f.Errorf("it changed at %s, the last change is %s", all[0].Cursor, lastChange(f))
		}
		if d := all[0].Document; d.Applied != 1 || !d.Parked() || string(d.View) != "1" {
			f.Errorf("document is %+v", d)
		}
	}},
	{"a deleted document comes with Deleted", func(f *fixture) {
		f.append(key("a"), "1", "2", "3")
		f.append(key("b"), "1")
		f.fold(key("a"), 1)
		f.fold(key("b"), 1)
		first := lastChange(f)
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Loaded: 1, Applied: 2, Deleted: true})
		for from, want := range map[store.Cursor]string{{}: "b a", first: "a"} {
			c := mustChange(f, from, want)
			if d := c[len(c)-1].Document; !d.Deleted || d.View != nil || d.Applied != 2 {
				f.Errorf("document is %+v", d)
			}
		}
		deleted := lastChange(f)
		f.fold(key("a"), 3)
		if c := mustChange(f, deleted, "a"); c[0].Document.Deleted || string(c[0].Document.View) != string(viewOf(3)) {
			f.Errorf("document is %+v", c[0].Document)
		}
	}},
	{"an erased document is not told, and its cursor is good", func(f *fixture) {
		for _, id := range []string{"a", "b", "c"} {
			f.append(key(id), "1")
			f.fold(key(id), 1)
		}
		all := mustChange(f, store.Cursor{}, "a b c")
		last := lastChange(f)
		f.forget(key("b"))
		f.forget(key("c"))
		mustChange(f, store.Cursor{}, "a")
		mustChange(f, all[0].Cursor, "")
		mustChange(f, all[1].Cursor, "")
		f.append(key("d"), "1")
		f.fold(key("d"), 1)
		for _, c := range []store.Cursor{all[0].Cursor, all[1].Cursor, all[2].Cursor, last} {
			mustChange(f, c, "d")
		}
		f.drop("notes")
		mustChange(f, store.Cursor{}, "")
		f.append(key("a"), "again")
		f.fold(key("a"), 1)
		mustChange(f, last, "a")
		mustChange(f, store.Cursor{}, "a")
	}},
	{"the last change is where to go on from", func(f *fixture) {
		before := lastChange(f)
		mustChange(f, before, "")
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1")
		for i, step := range []struct {
			id      string
			applied int64
		}{{"a", 1}, {"b", 1}, {"a", 2}} {
			f.fold(key(step.id), step.applied)
			mustChange(f, before, step.id)
			now := lastChange(f)
			if !before.Before(now) || now.Before(lastOf(mustChanges(f, store.Cursor{}))) {
				f.Errorf("change %d: the last change was %s and is %s", i+1, before, now)
			}
			mustChange(f, now, "")
			before = now
		}
	}},
	{"a cursor can be written and read", func(f *fixture) {
		f.append(key("a"), "1")
		f.fold(key("a"), 1)
		f.append(key("b"), "1")
		f.fold(key("b"), 1)
		first := mustChange(f, store.Cursor{}, "a b")[0].Cursor
		read, err := store.ParseCursor(first.String())
		if err != nil || read != first {
			f.Fatalf("cursor %s was read as %s, %v", first, read, err)
		}
		mustChange(f, read, "b")
	}},
	{"a cursor of another store is foreign", func(f *fixture) {
		other := &fixture{suite: f.suite, T: f.T, b: f.another()}
		for _, g := range []*fixture{f, other} {
			g.append(key("a"), "1")
			g.fold(key("a"), 1)
		}
		for _, c := range []store.Cursor{lastChange(other), mustChanges(other, store.Cursor{})[0].Cursor} {
			if err := f.refuseChanges(c); !errors.Is(err, store.ErrForeignToken) {
				f.Errorf("cursor %s of another store: %v", c, err)
			}
		}
	}},
	{"a cursor that no call can have returned is of the future", func(f *fixture) {
		f.append(key("a"), "1")
		f.fold(key("a"), 1)
		later := beyondCursor(f, lastChange(f), 1<<40)
		err := f.refuseChanges(later)
		future, ok := errors.AsType[*store.FutureCursorError](err)
		if !ok || !errors.Is(err, store.ErrFutureToken) || future.Cursor != later {
			f.Fatalf("a cursor far beyond the end: %v", err)
		}
		if future.Last.Before(lastChange(f)) || !future.Last.Before(later) {
			f.Errorf("the last place is said to be %s, the last change %s", future.Last, lastChange(f))
		}
		mustChange(f, future.Last, "")
	}},
}
