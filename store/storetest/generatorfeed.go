package storetest

import (
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
)

// changed returns what a follower of notes gets after a cursor, and checks that
// cursors rise, and that going on from each of them gives the rest.
func (f *fixture) changed(name string, after store.Cursor) (lines []string, last store.Cursor) {
	f.Helper()
	all := collect(f.T, f.b.Changes(background, name, after, store.WithViews))
	last = after
	for _, c := range all {
		if !last.Before(c.Cursor) {
			f.Errorf("after %q comes %q", last, c.Cursor)
		}
		last = c.Cursor
		lines = append(lines, fmt.Sprintf("%s %d %s", c.Document.Key.ID, c.Document.Applied, c.Document.View))
	}
	for i, c := range all {
		read, err := store.ParseCursor(c.Cursor.String())
		if err != nil || read != c.Cursor {
			f.Errorf("the cursor %q is read as %q, %v", c.Cursor, read, err)
		}
		if got := len(collect(f.T, f.b.Changes(background, name, c.Cursor, store.WithoutViews))); got != len(all)-1-i {
			f.Errorf("after change %d of %d come %d", i+1, len(all), got)
		}
	}
	return lines, last
}

// switchFeedChecks are those of the feed of changes over a switch.
var switchFeedChecks = []check{
	{"a follower is told of all that is served now", func(f *fixture) {
		two(f, "a", "b", "c")
		before, _ := f.changed("notes", store.Cursor{})
		if want := "[a 3 3 of version 1 b 3 3 of version 1 c 3 3 of version 1]"; fmt.Sprint(before) != want {
			f.Errorf("before the switch are returned %q", before)
		}
		cursors := []store.Cursor{{}}
		for _, c := range collect(f.T, f.b.Changes(background, "notes", store.Cursor{}, store.WithoutViews)) {
			cursors = append(cursors, c.Cursor)
		}
		f.append(key("b"), "4")
		f.foldAll("notes") // with a number beyond those of the new generation
		cursors = append(cursors, lastChange(f))
		f.foldAll("notes@2")
		cursors = append(cursors, lastChange(f))
		f.switchTo("notes@2", false, store.Unhindered)
		want := []string{"a 3 3 of version 2", "c 3 3 of version 2", "b 4 4 of version 2"}
		var ends []store.Cursor
		for _, after := range cursors {
			got, last := f.changed("notes", after)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				f.Errorf("after %q are returned %q", after, got)
			}
			if ends = append(ends, last); last.Before(after) {
				f.Errorf("after %q comes %q", after, last)
			}
		}
		if got, _ := f.changed("notes", lastChange(f)); len(got) != 0 {
			f.Errorf("after the last change come %q", got)
		}
		f.append(key("c"), "4")
		f.foldAll("notes")
		for _, after := range append(ends, lastChangeBefore(f)) {
			if got, _ := f.changed("notes", after); fmt.Sprint(got) != "[c 4 4 of version 2]" {
				f.Errorf("after %q are returned %q", after, got)
			}
		}
		f.foldAll("notes@1")
		f.rollback()
		ends = append(ends, ends[0])
		want = []string{"a 3 3 of version 1", "b 4 4 of version 1", "c 4 4 of version 1"}
		for _, after := range append(ends, cursors...) {
			if got, _ := f.changed("notes", after); fmt.Sprint(got) != fmt.Sprint(want) {
				f.Errorf("after the rollback and %q are returned %q", after, got)
			}
		}
	}},
	{"a generation is followed by its version", func(f *fixture) {
		two(f, "a", "b")
		_, first := f.changed("notes@2", store.Cursor{})
		f.switchTo("notes@2", false, store.Unhindered)
		if got, _ := f.changed("notes@2", first); len(got) != 0 {
			f.Errorf("a switch changes %q", got)
		}
		_, way := f.changed("notes", store.Cursor{})
		f.append(key("a"), "4")
		f.foldAll("notes@1")
		f.foldAll("notes@2")
		for _, after := range []store.Cursor{first, way} {
			for name, want := range map[string]string{"notes@1": "[a 4 4 of version 1]", "notes@2": "[a 4 4 of version 2]", "notes": "[a 4 4 of version 2]"} {
				got, _ := f.changed(name, after)
				// Who was not told of the switch gets the rest too.
				if name == "notes" && after == first {
					want = "[b 3 3 of version 2 a 4 4 of version 2]"
				}
				if fmt.Sprint(got) != want {
					f.Errorf("of %s after %q are returned %q, want %s", name, after, got, want)
				}
			}
		}
	}},
	{"a switch in the middle of the loop", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(400, 1500)
		appendMany(f, n)
		f.foldAll("notes")
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		last := make(map[string]string)
		var cursor store.Cursor
		i, switches := 0, 0
		for c, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithViews) {
			if err != nil {
				f.Fatal(err)
			}
			if !cursor.Before(c.Cursor) {
				f.Fatalf("after %q comes %q", cursor, c.Cursor)
			}
			cursor = c.Cursor
			last[c.Document.Key.ID] = string(c.Document.View)
			switch i++; {
			case i == n/2, i == n+n/2:
				f.append(key(number(n-1)), "2")
				f.append(key(number(1)), "2")
				f.foldAll("notes@1")
				f.foldAll("notes@2")
				if switches++; switches == 1 {
					f.switchTo("notes@2", false, store.Unhindered)
				} else {
					f.rollback()
				}
			case i > 10*n:
				f.Fatal("the loop does not end")
			}
		}
		for _, d := range collect(f.T, f.b.Scan(background, "notes", "", store.WithViews)) {
			if last[d.Key.ID] != string(d.View) {
				f.Fatalf("of %s the follower has %q, it is %q", d.Key.ID, last[d.Key.ID], d.View)
			}
		}
		if switches != 2 || len(last) != n {
			f.Errorf("%d switches, %d documents", switches, len(last))
		}
	}},
	{"cursors of other collections are good", func(f *fixture) {
		two(f, "a")
		task := store.Key{Collection: "tasks", ID: "t"}
		mustRegister(f, "tasks", 1)
		f.append(task, "1")
		f.foldAll("tasks")
		mustRegister(f, "tasks", 2)
		f.fill("tasks@2")
		f.foldAll("tasks@2")
		f.switchTo("tasks@2", false, store.Unhindered)
		f.switchTo("notes@2", false, store.Unhindered)
		_, ofNotes := f.changed("notes", store.Cursor{})
		_, ofTasks := f.changed("tasks", store.Cursor{})
		for _, after := range []store.Cursor{ofNotes, ofTasks} {
			for _, name := range []string{"notes", "tasks", "notes@1", "tasks@1"} {
				f.changed(name, after)
			}
		}
		if got, _ := f.changed("notes", ofTasks); fmt.Sprint(got) != "[a 3 3 of version 2]" {
			f.Errorf("after the way of the tasks are returned %q", got)
		}
		f.append(task, "2")
		f.foldAll("tasks")
		if got, _ := f.changed("tasks", ofNotes); !slices.Contains(got, "t 2 2 of version 2") {
			f.Errorf("after the way of the notes are returned %q", got)
		}
	}},
	{"history over a switch", func(f *fixture) {
		mustRegister(f, "notes", 1)
		for id, history := range map[string]bool{"news": false, "old": true} {
			f.appendAll(store.Append{Key: key(id), Entries: entries("1"), History: history})
		}
		foldAs := func(name string) {
			for _, r := range f.runnable(name) {
				d := f.load(r.Key)
				f.mustCommit(store.Done, store.Commit{Key: r.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, History: r.Key.ID == "old"})
			}
		}
		foldAs("notes")
		after := lastChange(f)
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		foldAs("notes@2")
		f.switchTo("notes@2", false, store.Unhindered)
		for _, c := range collect(f.T, f.b.Changes(background, "notes", after, store.WithoutViews)) {
			if c.History && c.Document.Key.ID != "old" {
				f.Errorf("%s is history", c.Document.Key)
			}
		}
	}},
}

// lastChangeBefore returns the cursor before the last change of a view.
func lastChangeBefore(f *fixture) store.Cursor {
	f.Helper()
	all := collect(f.T, f.b.Changes(background, "notes", store.Cursor{}, store.WithoutViews))
	if len(all) < 2 {
		f.Fatalf("only %d changes", len(all))
	}
	return all[len(all)-2].Cursor
}
