package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

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
		mustChange(f, store.Cursor{}, "a b c")
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
	{"what does not move applied is no change", func(f *fixture) {
		for _, id := range []string{"a", "b"} {
			f.append(key(id), "1", "2", "3")
			f.fold(key(id), 1)
		}
		before, last := mustChanges(f, store.Cursor{}), lastChange(f)
		failed := store.Commit{Key: key("a"), Loaded: 1, Applied: 1, View: []byte("x"), History: true, Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e"}}
		f.mustCommit(store.StillDirty, failed)
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Loaded: 0, Applied: 2, View: []byte("x")})
		f.append(key("a"), "4")
		f.park(key("b"))
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
		if now := lastChange(f); now != last {
			f.Errorf("the last change was %s and is %s", last, now)
		}
		mustChange(f, last, "")
	}},
	{"a change with a failure behind it is one", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: []byte("1"), Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e", Park: true}})
		all := mustChange(f, store.Cursor{}, "a")
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
	{"many changes, and large ones, come in order", func(f *fixture) {
		n := small(300, 1500)
		appendMany(f, n)
		var commits []store.Commit
		for i := range n {
			c := store.Commit{Key: key(number(i * 7 % n)), Applied: 1, View: viewOf(1)}
			if i%100 == 50 {
				c.View = []byte(strings.Repeat("v", 700_000))
			}
			commits = append(commits, c)
		}
		for i := 0; i < n; i += 100 {
			f.commit(commits[i:min(i+100, n)]...)
		}
		all := mustChanges(f, store.Cursor{})
		if len(all) != n {
			f.Fatalf("there are %d changes, want %d", len(all), n)
		}
		for i, c := range all {
			if c.Document.Key != commits[i].Key || len(c.Document.View) != len(commits[i].View) {
				f.Fatalf("change %d is of %s, want %s", i, c.Document.Key, commits[i].Key)
			}
		}
		if rest := mustChanges(f, all[n-3].Cursor); len(rest) != 2 {
			f.Errorf("after the third but last are %d changes", len(rest))
		}
	}},
	{"from backlog to live nothing is missed", func(f *fixture) {
		documents, each := 12, small(20, 120)
		for i := range documents {
			f.append(key(number(i)), make([]string, each)...)
			f.fold(key(number(i)), 1)
		}
		done := make(chan struct{})
		var group sync.WaitGroup
		for g := range 3 {
			group.Go(func() {
				for applied := range int64(each - 1) {
					for i := g; i < documents; i += 3 {
						c := store.Commit{Key: key(number(i)), Loaded: applied + 1, Applied: applied + 2, View: viewOf(applied + 2)}
						if out, err := f.b.Commit(background, []store.Commit{c}); err != nil || out[0] == store.Stale {
							f.Errorf("Commit of %s: %v, %v", c.Key, out, err)
							return
						}
					}
				}
			})
		}
		go func() {
			group.Wait()
			close(done)
		}()
		defer group.Wait()
		var last store.Cursor
		seen := make(map[store.Key]int64)
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			for _, c := range mustChanges(f, last) {
				if d := c.Document; d.Applied < seen[d.Key] || string(d.View) != string(viewOf(d.Applied)) {
					f.Fatalf("%s came at %d after %d, with the view %q", d.Key, d.Applied, seen[d.Key], d.View)
				}
				seen[c.Document.Key], last = c.Document.Applied, c.Cursor
			}
		}
		for i := range documents {
			if seen[key(number(i))] != int64(each) {
				f.Errorf("%s was last seen at %d, want %d", number(i), seen[key(number(i))], each)
			}
		}
	}},
	{"the loop may call any method, and ends", func(f *fixture) {
		n := small(300, 1200)
		appendMany(f, n)
		for i := range n {
			f.fold(key(number(i)), 1)
		}
		seen, last := make(map[store.Key]bool), store.Cursor{}
		loops := 0
		for c, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithViews) {
			if err != nil {
				f.Fatal(err)
			}
			if !last.Before(c.Cursor) {
				f.Fatalf("cursor %s came after %s", c.Cursor, last)
			}
			last, seen[c.Document.Key] = c.Cursor, true
			if loops++; loops%200 == 1 && loops < 2*n {
				callEverything(f, c.Document.Key)
			}
		}
		if len(seen) != n {
			f.Errorf("%d documents came, want %d", len(seen), n)
		}
		mustChange(f, last, "")
	}},
	{"leaving the loop releases everything", func(f *fixture) {
		appendMany(f, 20)
		for i := range 20 {
			f.fold(key(number(i)), 1)
		}
		for range 50 {
			for _, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithViews) {
				if err != nil {
					f.Fatal(err)
				}
				break
			}
		}
		callEverything(f, key(number(3)))
	}},
	{"what it returns belongs to the caller", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: []byte("view"), Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e"}})
		before := contents(f.T, f.b)
		for _, c := range mustChanges(f, store.Cursor{}) {
			scribble(c.Document.View)
			*c.Document.Failure = store.Failure{}
		}
		f.mustContain(before)
	}},
	{"cursors survive reopening, and none is given again", func(f *fixture) {
		f.append(key("a"), make([]string, 20)...)
		f.append(key("b"), "1")
		f.fold(key("a"), 1)
		first := lastChange(f)
		f.fold(key("b"), 1)
		given := []store.Cursor{first, lastChange(f)}
		for round := range int64(3) {
			f.reopen()
			mustChange(f, store.Cursor{}, "a b")
			mustChange(f, first, "b")
			mustChange(f, given[len(given)-1], "")
			given = append(given, lastChange(f))
			f.fold(key("a"), round+2)
			c := mustChange(f, given[len(given)-1], "a")
			for _, old := range given {
				if !old.Before(c[0].Cursor) {
					f.Fatalf("cursor %s was given before %s, which is new", old, c[0].Cursor)
				}
			}
			given = append(given, c[0].Cursor)
			f.append(key("b"), "more")
			f.fold(key("b"), round+2)
			mustChange(f, c[0].Cursor, "b")
			given = append(given, lastChange(f))
			first = c[0].Cursor
		}
	}},
	{"handles have one counter", func(f *fixture) {
		second := &fixture{suite: f.suite, T: f.T, b: f.second()}
		f.append(key("a"), make([]string, 20)...)
		f.append(key("b"), make([]string, 20)...)
		last := lastChange(f)
		for i := range int64(10) {
			f.fold(key("a"), i+1)
			last = lastOf(mustChange(second, last, "a"))
			second.fold(key("b"), i+1)
			last = lastOf(mustChange(f, last, "b"))
			if a, b := lastChange(f), lastChange(second); a != b {
				f.Fatalf("the last change is %s by one handle and %s by the other", a, b)
			}
		}
		third := &fixture{suite: f.suite, T: f.T, b: f.second()}
		mustChange(third, last, "")
		f.fold(key("a"), 11)
		mustChange(third, last, "a")
	}},
}

// mustChanges returns what changed in notes after a cursor, and checks the order.
func mustChanges(f *fixture, after store.Cursor) []store.Change {
	f.Helper()
	last := after
	all := collect(f.T, f.b.Changes(background, "notes", after, store.WithViews))
	for _, c := range all {
		if !last.Before(c.Cursor) {
			f.Fatalf("cursor %s of %s comes after %s", c.Cursor, c.Document.Key, last)
		}
		last = c.Cursor
	}
	return all
}

// mustChange is mustChanges with the expected ids.
func mustChange(f *fixture, after store.Cursor, want string) []store.Change {
	f.Helper()
	all := mustChanges(f, after)
	var got []string
	for _, c := range all {
		got = append(got, c.Document.Key.ID)
	}
	if strings.Join(got, " ") != want {
		f.Fatalf("after %q changed %q, want %q", after, strings.Join(got, " "), want)
	}
	return all
}

func lastOf(all []store.Change) store.Cursor { return all[len(all)-1].Cursor }

func lastChange(f *fixture) store.Cursor {
	f.Helper()
	c, err := f.b.LastChange(background)
	if err != nil {
		f.Fatalf("LastChange: %v", err)
	}
	return c
}

// refuseChanges reads changes after a cursor that cannot be, and returns the error.
func (f *fixture) refuseChanges(after store.Cursor) (last error) {
	f.Helper()
	n := 0
	for c, err := range f.b.Changes(background, "notes", after, store.WithViews) {
		if n, last = n+1, err; err == nil {
			f.Errorf("after %s changed %s", after, c.Document.Key)
			break
		}
	}
	if n != 1 {
		f.Errorf("after %s came %d elements, want one error", after, n)
	}
	return last
}

// beyondCursor returns the cursor of a change that a store may make later.
func beyondCursor(f *fixture, c store.Cursor, more int64) store.Cursor {
	f.Helper()
	front, back, _ := strings.Cut(c.String(), ":c")
	number, err := strconv.ParseInt(back, 10, 64)
	if err != nil {
		f.Fatalf("cursor %s: %v", c, err)
	}
	later, err := store.ParseCursor(fmt.Sprintf("%s:c%d", front, number+more))
	if err != nil {
		f.Fatal(err)
	}
	return later
}
