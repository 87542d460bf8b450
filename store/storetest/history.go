package storetest

import (
	"fmt"
	"strings"

	"github.com/refold-go/refold/store"
)

var historyChecks = []check{
	{"what is appended as history is read back so", func(f *fixture) {
		f.append(key("a"), "1")
		f.appendAll(past(key("a"), entries("2", "3")...), store.Append{Key: key("b"), Entries: entries("1")})
		f.append(key("a"), "4")
		mustBeHistory(f, key("a"), "2 3")
		mustBeHistory(f, key("b"), "")
	}},
	{"it is folded like any other", func(f *fixture) {
		f.appendAll(past(key("a"), entries("1", "2")...))
		d := f.load(key("a"))
		if d.Head != 2 || d.Since.Position == 0 || !d.Dirty() {
			f.Errorf("document is %+v", d)
		}
		f.mustRun("a")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: viewOf(1), History: true})
		f.mustRun("a")
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Loaded: 1, Applied: 2, View: viewOf(2), History: true})
		f.mustRun()
		f.refuse(store.ErrConflict, store.Append{Key: key("a"), History: true, Head: new(int64(1)), Entries: entries("x")})
	}},
	{"a duplicate keeps the first mark", func(f *fixture) {
		f.appendAll(past(key("a"), named("1")))
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("2")}})
		for _, history := range []bool{true, false} {
			again := store.Append{Key: key("a"), History: history, Entries: []store.Entry{named("1"), named("2")}}
			for i, p := range f.appendAll(again).Documents[0].Operations {
				if !p.Duplicate || p.Seq != int64(i+1) {
					f.Errorf("operation %d is %+v", i+1, p)
				}
			}
		}
		f.appendAll(past(key("a"), named("2"), named("3")))
		mustBeHistory(f, key("a"), "1 3")
	}},
	{"it can be discarded, and stays history", func(f *fixture) {
		f.appendAll(past(key("a"), entries("1", "2")...))
		f.append(key("a"), "3")
		f.discard(key("a"), 2)
		f.discard(key("a"), 3)
		mustBeHistory(f, key("a"), "1 2")
		for _, op := range f.operations(key("a")) {
			if op.Discarded != (op.Seq > 1) {
				f.Errorf("operation is %+v", op)
			}
		}
	}},
	{"a change is history if all that came into the view after the cursor is", func(f *fixture) {
		f.appendAll(past(key("a"), entries("1", "2", "3", "4")...))
		f.append(key("a"), "5", "6")
		f.appendAll(past(key("a"), entries("7", "8")...))
		// Of what the view got with each commit, whether all was history.
		steps := []struct {
			applied int64
			history bool
		}{{2, true}, {4, true}, {5, false}, {7, false}, {8, true}}
		cursors := []store.Cursor{{}}
		for i, step := range steps {
			d := f.load(key("a"))
			f.commit(store.Commit{Key: key("a"), Loaded: d.Applied, Epoch: d.Epoch, Applied: step.applied, View: viewOf(step.applied), History: step.history})
			cursors = append(cursors, lastChange(f))
			for from := range i + 1 {
				want := true
				for _, s := range steps[from : i+1] {
					want = want && s.history
				}
				if c := mustChange(f, cursors[from], "a"); c[0].History != want {
					f.Errorf("of the steps %d to %d history is %t, want %t", from+1, i+1, c[0].History, want)
				}
			}
		}
	}},
	{"a loop measures from when it returned the document last", func(f *fixture) {
		f.append(key("a"), "1")
		f.appendAll(past(key("a"), entries("2")...))
		f.append(key("a"), "3")
		f.fold(key("a"), 1)
		var got []bool
		for c, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithoutViews) {
			if err != nil {
				f.Fatal(err)
			}
			got = append(got, c.History)
			if applied := c.Document.Applied; applied < 3 {
				f.commit(store.Commit{Key: key("a"), Loaded: applied, Applied: applied + 1, View: viewOf(applied + 1), History: applied == 1})
			}
		}
		if fmt.Sprint(got) != "[false true false]" {
			f.Errorf("history of the three changes is %v", got)
		}
	}},
	{"each document has its own", func(f *fixture) {
		f.append(key("a"), "1")
		f.appendAll(past(key("b"), entries("1")...))
		f.fold(key("a"), 1)
		f.mustCommit(store.Done, store.Commit{Key: key("b"), Applied: 1, History: true, Deleted: true})
		for _, c := range mustChange(f, store.Cursor{}, "a b") {
			if c.History != (c.Document.Key.ID == "b") {
				f.Errorf("%s: history is %t", c.Document.Key, c.History)
			}
		}
	}},
	{"it is not history to who stopped before the document", func(f *fixture) {
		// d has something new, then e, then d something old: who is given e and goes on
		// from there was never given what was new in d.
		f.append(key("d"), "1")
		f.append(key("e"), "1")
		f.appendAll(past(key("d"), entries("2")...))
		f.mustCommit(store.StillDirty, store.Commit{Key: key("d"), Applied: 1, View: viewOf(1)})
		f.mustCommit(store.Done, store.Commit{Key: key("e"), Applied: 1, View: viewOf(1)})
		f.mustCommit(store.Done, store.Commit{Key: key("d"), Loaded: 1, Applied: 2, View: viewOf(2), History: true})
		var stopped store.Cursor
		for c, err := range f.b.Changes(background, "notes", store.Cursor{}, store.WithViews) {
			if err != nil {
				f.Fatal(err)
			}
			stopped = c.Cursor
			break
		}
		carried, err := store.ParseCursor(stopped.String())
		if err != nil || carried != stopped {
			f.Fatalf("%s is read as %s, %v", stopped, carried, err)
		}
		c := mustChange(f, carried, "d")[0]
		if c.History {
			f.Error("what was new in the document was never given, and is said to be history")
		}
		// To who was given all of it, the same run is history.
		f.appendAll(past(key("d"), entries("3")...))
		f.mustCommit(store.Done, store.Commit{Key: key("d"), Loaded: 2, Applied: 3, View: viewOf(3), History: true})
		if c := mustChange(f, c.Cursor, "d")[0]; !c.History {
			f.Error("nothing new came in, and it is not said to be history")
		}
	}},
	{"a commit that moves nothing says nothing of history", func(f *fixture) {
		f.appendAll(past(key("a"), entries("1", "2")...))
		f.append(key("b"), "1", "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: viewOf(1), History: true})
		f.fold(key("b"), 1)
		for _, id := range []string{"a", "b"} {
			f.mustCommit(store.StillDirty, store.Commit{Key: key(id), Loaded: 1, Applied: 1, History: id == "b", Failure: &store.Failure{Seq: 2, Attempts: 1, Error: "e"}})
		}
		for _, c := range mustChange(f, store.Cursor{}, "a b") {
			if c.History != (c.Document.Key.ID == "a") {
				f.Errorf("%s: history is %t", c.Document.Key, c.History)
			}
		}
	}},
	{"it survives reopening", func(f *fixture) {
		f.appendAll(past(key("a"), entries("1")...))
		f.append(key("a"), "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: viewOf(1), History: true})
		before := contents(f.T, f.b)
		f.reopen()
		f.mustContain(before)
		mustBeHistory(f, key("a"), "1")
		first := mustChange(f, store.Cursor{}, "a")[0]
		if !first.History {
			f.Error("the change is not history any more")
		}
		f.fold(key("a"), 2)
		if c := mustChange(f, first.Cursor, "a"); c[0].History {
			f.Error("what is new is history")
		}
	}},
}

// past is an append of history.
func past(k store.Key, all ...store.Entry) store.Append {
	return store.Append{Key: k, History: true, Entries: all}
}

// mustBeHistory compares the seqs of a document's history, by its operations and
// by the log.
func mustBeHistory(f *fixture, k store.Key, want string) {
	f.Helper()
	var got, logged []string
	for _, op := range f.operations(k) {
		if op.History {
			got = append(got, fmt.Sprint(op.Seq))
		}
	}
	for _, l := range mustLog(f, store.Token{}, store.Token{}) {
		if l.History && l.Key == k {
			logged = append(logged, fmt.Sprint(l.Seq))
		}
	}
	if strings.Join(got, " ") != want || strings.Join(logged, " ") != want {
		f.Errorf("history of %s is %q, in the log %q, want %q", k, got, logged, want)
	}
}
