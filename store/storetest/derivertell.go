package storetest

import (
	"fmt"

	"github.com/refold-go/refold/store"
)

// tellChecks are those of what a commit of a source does to the mappings that read it.
var tellChecks = []check{
	{"another view makes a delta in the same commit", func(f *fixture) {
		tagged(f)
		heard := f.heard()
		f.append(key("other"), "1")
		at := f.append(key("a"), "1", "2").Operations[0].Position
		since := f.load(key("a")).Since
		heard()
		f.mustCommit(store.Done, f.view(key("a"), "x"))
		if got := heard(); got != "tags@1<notes/a" {
			f.Errorf("announced is %q", got)
		}
		for _, name := range []string{"tags<notes", "tags@1<notes"} {
			d := f.mustLack(mapped(name, "a"), at, 1)
			if d.Head != 1 || d.Applied != 0 || d.Version != 1 || d.Last != at || !d.Since.Time.Equal(since.Time) || d.View != nil {
				f.Errorf("the document of the mapping is %+v", d)
			}
			deltas := f.operations(d.Key)
			if len(deltas) != 1 || len(deltas[0].Body) != 0 || deltas[0].Position != at || !deltas[0].Time.Equal(since.Time) || deltas[0].History {
				f.Errorf("the deltas are %+v", deltas)
			}
			f.mustRunOf(name, "a")
			if n := mustCount(f, name); n.Dirty != 1 || n.Oldest.Key != d.Key || n.Oldest.Since.Position != at {
				f.Errorf("the counts are %+v", n)
			}
			mustScan(f, name, "", "a")
		}
	}},
	{"a slice of a source tells since what it had not before", func(f *fixture) {
		tagged(f)
		first := f.append(key("a"), "1", "2", "3").Operations[0].Position
		f.fold(key("a"), 1)
		f.mustLack(mapped("tags<notes", "a"), first, 1)
		f.contribute(mapped("tags<notes", "a"))
		f.fold(key("a"), 2)
		f.mustLack(mapped("tags<notes", "a"), first+1, 1)
		f.fold(key("a"), 3)
		f.mustLack(mapped("tags<notes", "a"), first+1, 2)
		f.contribute(mapped("tags<notes", "a"))
		if d := f.mustLack(mapped("tags<notes", "a"), 0, 0); d.Head != 3 || d.Applied != 3 || d.Last != first+2 {
			f.Errorf("the document is %+v", d)
		}
		f.mustRunOf("tags<notes")
	}},
	{"an equal view tells nobody", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"))
		heard := f.heard()
		f.write(key("a"), "x")
		f.mustLack(mapped("tags<notes", "a"), 0, 0)
		if got := heard(); got != "notes/a" {
			f.Errorf("announced is %q", got)
		}
		f.write(key("a"), "")
		f.mustLack(mapped("tags<notes", "a"), f.load(key("a")).Last, 1)
	}},
	{"deleting tells, and so does what comes after", func(f *fixture) {
		tagged(f)
		deleted := func(want int) {
			f.Helper()
			f.append(key("a"), "1")
			c := f.view(key("a"), "")
			c.Deleted = true
			f.mustCommit(store.Done, c)
			since := store.Position(0)
			if want > 0 {
				since = f.load(key("a")).Last
			}
			if f.mustLack(mapped("tags<notes", "a"), since, want); want > 0 {
				f.contribute(mapped("tags<notes", "a"))
			}
		}
		f.write(key("a"), "")
		f.contribute(mapped("tags<notes", "a"))
		deleted(1)
		deleted(0)
		f.mustLack(mapped("tags<notes", "a"), f.write(key("a"), ""), 1) // a view that is empty is one
	}},
	{"what changes no view tells nobody", func(f *fixture) {
		tagged(f)
		f.append(key("a"), "1")
		stale := f.view(key("a"), "late")
		stale.Epoch++
		f.mustCommit(store.Stale, stale)
		failed := f.view(key("a"), "")
		failed.Applied, failed.Failure = 0, &store.Failure{Seq: 1, Attempts: 1, Error: "e"}
		f.mustCommit(store.StillDirty, failed)
		f.park(key("a"))
		mustResume(f, 1, key("a"))
		f.park(key("a"))
		f.append(key("a"), "2")
		mustScan(f, "tags<notes", "")
		f.discard(key("a"), 1)
		mustScan(f, "tags<notes", "")
	}},
	{"history goes along", func(f *fixture) {
		tagged(f)
		var got []bool
		for i, history := range []bool{true, false, true} {
			f.appendAll(store.Append{Key: key("a"), History: history, Entries: entries("1")})
			c := f.view(key("a"), fmt.Sprint(i))
			c.History = history
			f.mustCommit(store.Done, c)
			got = append(got, f.operations(mapped("tags<notes", "a"))[0].History)
			f.contribute(mapped("tags<notes", "a"))
		}
		if fmt.Sprint(got) != "[true false true]" {
			f.Errorf("history of the deltas is %v", got)
		}
	}},
	{"only what is served of a source tells", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"))
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		f.mustLack(mapped("tags<notes", "a"), 0, 0)
		f.append(key("a"), "2")
		f.foldAll("notes@2")
		f.mustLack(mapped("tags<notes", "a"), 0, 0)
		f.foldAll("notes@1")
		f.mustLack(mapped("tags<notes", "a"), f.load(key("a")).Last, 1)
	}},
	{"every mapping that lives is told, in documents of its own", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		tagged(f)
		other := tags(1, "tasks", "notes")
		other.Name = "other"
		f.derive(other)
		f.derive(tags(2))
		f.switchTo("tags@2", false, store.Unhindered)
		f.derive(tags(3, "notes", "tasks"))
		heard := f.heard()
		at := f.write(key("a"), "x")
		names := []string{"other@1<notes", "tags@1<notes", "tags@2<notes", "tags@3<notes"}
		if got := heard(); got != "notes/a other@1<notes/a tags@1<notes/a tags@2<notes/a tags@3<notes/a" {
			f.Errorf("announced is %q", got)
		}
		epochs := make(map[int64]bool)
		for _, name := range names {
			epochs[f.mustLack(mapped(name, "a"), at, 1).Epoch] = true
		}
		if len(epochs) != len(names) {
			f.Errorf("of %d documents the epochs are %v", len(names), epochs)
		}
		f.contribute(mapped(names[1], "a"), "t=1")
		f.mustHave(versioned("tags@1", "t"), "0:a=1")
		f.mustHave(tag("t"), "")
		f.mustLack(mapped("tags<notes", "a"), at, 1)
		mustScan(f, "other@1<tasks", "")
		mustScan(f, "tags@3<tasks", "")
		f.retire("tags@1")
		f.drop("other")
		f.write(key("b"), "x")
		if got := heard(); got != "notes/b tags@1/t tags@2<notes/b tags@3<notes/b" {
			f.Errorf("announced is %q", got)
		}
		for _, gone := range []string{names[0], names[1]} {
			mustScan(f, gone, "")
		}
		f.sweep()
	}},
	{"a parked document of a mapping is told in silence", func(f *fixture) {
		tagged(f)
		first := f.write(key("a"), "x")
		f.park(mapped("tags<notes", "a"))
		heard := f.heard()
		f.write(key("a"), "y")
		if got := heard(); got != "notes/a" {
			f.Errorf("announced is %q", got)
		}
		f.mustLack(mapped("tags<notes", "a"), first, 2)
		f.mustRunOf("tags<notes")
		if n := mustCount(f, "tags@1<notes"); n.Parked != 1 || n.OldestParked.Since.Position != first {
			f.Errorf("the counts are %+v", n)
		}
		mustResume(f, 1, mapped("tags<notes", "a"))
		if got := heard(); got != "tags@1<notes/a" {
			f.Errorf("announced is %q", got)
		}
		f.mustRunOf("tags@1<notes", "a")
	}},
	{"a mapping has the feed of what parked", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"), "t=1")
		f.write(key("b"), "y")
		f.park(mapped("tags<notes", "b"))
		var got []string
		for _, c := range collect(f.T, f.b.Changes(background, "tags<notes", store.Cursor{}, store.WithViews)) {
			got = append(got, c.Document.Key.String())
		}
		if fmt.Sprint(got) != "[tags<notes/b]" {
			f.Errorf("changed are %q", got)
		}
	}},
	{"a commit and what it tells are one", func(f *fixture) {
		tagged(f)
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		bad := f.view(key("b"), "x")
		bad.Applied = 2
		f.unchangedBy(store.ErrInvalid, func() error {
			_, err := f.b.Commit(background, []store.Commit{f.view(key("a"), "x"), bad})
			return err
		})
		bad.Applied, bad.Epoch = 1, bad.Epoch+1
		f.commit(f.view(key("a"), "x"), bad)
		mustScan(f, "tags<notes", "", "a")
	}},
	{"a derived collection tells those that are made of it", func(f *fixture) {
		tagged(f)
		f.derive(store.Derivation{Name: "groups", Version: 1, Sources: []string{"notes", "tags"}})
		at := f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"), "t=1", "u=2")
		mustScan(f, "groups<tags", "")
		f.contribute(mapped("groups<notes", "a"))
		later := f.write(key("a"), "y")
		f.contribute(mapped("tags<notes", "a"), "t=2", "u=2")
		f.mustLack(tag("t"), at, 2)
		heard := f.heard()
		f.reduce(tag("t"), "made")
		if got := heard(); got != "groups@1<tags/t" {
			f.Errorf("announced is %q", got)
		}
		f.mustLack(mapped("groups<tags", "t"), at, 1)
		f.contribute(mapped("groups<tags", "t"), "g=3")
		f.mustLack(store.Key{Collection: "groups", ID: "g"}, at, 1)
		f.reduce(store.Key{Collection: "groups", ID: "g"}, "made")
		f.write(key("a"), "z")
		f.contribute(mapped("tags<notes", "a"), "t=3", "u=2")
		f.reduce(tag("t"), "made") // as before
		f.mustLack(mapped("groups<tags", "t"), 0, 0)
		f.write(key("a"), "zz")
		f.contribute(mapped("tags<notes", "a"), "t=4", "u=2")
		f.reduce(tag("t"), "made anew")
		f.mustLack(mapped("groups<tags", "t"), later+2, 1)
	}},
}
