package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// switchChecks are those of what becomes of generations.
var switchChecks = []check{
	{"what is in the way of a switch", func(f *fixture) {
		mustRegister(f, "notes", 1)
		for _, id := range []string{"a", "b"} {
			f.append(key(id), "1", "2")
		}
		f.fold(key("a"), 2)
		f.fold(key("b"), 1)
		mustRegister(f, "notes", 2)
		stays := func(force bool, want store.Hindrance) store.Obstacle {
			f.Helper()
			before := contents(f.T, f.b)
			o := f.switchTo("notes@2", force, want)
			f.mustContain(before)
			return o
		}
		if o := stays(true, store.Unfilled); o.Document != (store.Key{}) {
			f.Errorf("the obstacle is %+v", o)
		}
		f.fill("notes@2")
		stays(true, store.Behind)
		f.fold(versioned("notes@2", "b"), 1) // as far as what is served
		if o := stays(true, store.Behind); o.Document != versioned("notes@2", "a") {
			f.Errorf("the obstacle is %+v", o)
		}
		f.fold(versioned("notes@2", "a"), 1)
		stays(false, store.Behind)
		f.park(versioned("notes@2", "a"))
		if o := stays(false, store.ParkedBehind); o.Document != versioned("notes@2", "a") {
			f.Errorf("the obstacle is %+v", o)
		}
		f.switchTo("notes@2", true, store.Unhindered)
		if d := f.load(key("a")); !d.Parked() || d.Applied != 1 || d.Version != 2 {
			f.Errorf("what is served now is %+v", d)
		}
		f.mustRun("b")
	}},
	{"a document that is behind in both is in nobody's way", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.append(key("a"), "1", "2")
		f.park(key("a"))
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.park(versioned("notes@2", "a"))
		f.switchTo("notes@2", false, store.Unhindered)
	}},
	{"too many dirty documents are not compared", func(f *fixture) {
		if testing.Short() {
			f.Skip("it takes many documents")
		}
		mustRegister(f, "notes", 1)
		appendMany(f, store.MaxDirty+1)
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.switchTo("notes@2", true, store.TooDirty)
		f.fold(versioned("notes@2", number(7)), 1)
		f.switchTo("notes@2", false, store.Unhindered)
	}},
	{"a switch serves the new views", func(f *fixture) {
		two(f, "a", "b")
		f.append(key("a"), "4")
		old := f.load(key("a"))
		late := store.Commit{Key: key("a"), Loaded: old.Applied, Epoch: old.Epoch, Applied: 4, View: []byte("late")}
		var heard []string
		f.Cleanup(f.b.Listen(store.Listener{Switched: func(name string) { heard = append(heard, name) }}))
		begin := time.Now()
		o, err := f.b.Switch(background, "notes@2", store.SwitchTerms{Keep: time.Hour})
		if err != nil || o != (store.Obstacle{}) {
			f.Fatalf("Switch: %+v, %v", o, err)
		}
		f.mustBe("1 kept", "2 serving")
		if fmt.Sprint(heard) != "[notes]" || f.servedVersion("notes") != 2 {
			f.Errorf("heard of %q, version %d is served", heard, f.servedVersion("notes"))
		}
		if g := f.generations("notes"); g[0].Until.Before(begin.Add(time.Hour-time.Second)) || g[0].Until.After(time.Now().Add(time.Hour)) || !g[1].Until.IsZero() {
			f.Errorf("the generations are %+v", g)
		}
		f.mustView(key("a"), 3, "3 of version 2")
		f.mustView(versioned("notes@2", "b"), 3, "3 of version 2")
		f.mustView(versioned("notes@1", "b"), 3, "3 of version 1")
		f.mustCommit(store.Stale, late)
		late.Key = versioned("notes@2", "a")
		f.mustCommit(store.Stale, late)
		late.Key = versioned("notes@1", "a") // it is folded on
		f.mustCommit(store.Done, late)
		f.mustRun("a")
		f.foldAll("notes")
		before := contents(f.T, f.b)
		f.switchTo("notes@2", false, store.Unhindered)
		f.mustContain(before)
		if len(heard) != 1 {
			f.Errorf("heard of %q", heard)
		}
	}},
	{"a switch to what is built does not go back to what was served", func(f *fixture) {
		two(f, "a")
		again := func(want error) {
			f.Helper()
			o, err := f.b.Switch(background, "notes@2", store.SwitchTerms{New: true})
			if !errors.Is(err, want) || want == nil && err != nil || o != (store.Obstacle{}) {
				f.Errorf("Switch: %+v, %v, want %v", o, err, want)
			}
		}
		again(nil)
		again(nil) // it is served
		f.mustBe("1 kept", "2 serving")
		mustRegister(f, "notes", 3)
		f.fill("notes@3")
		f.fold(versioned("notes@3", "a"), 3)
		f.switchTo("notes@3", false, store.Unhindered)
		again(store.ErrNotFound)
		f.mustBe("2 kept", "3 serving")
		if err := f.b.Rollback(background, "notes"); err != nil {
			f.Fatal(err)
		}
		before := contents(f.T, f.b)
		if _, err := f.b.Switch(background, "notes@3", store.SwitchTerms{New: true}); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("Switch to what is set aside: %v", err)
		}
		f.mustContain(before)
		f.switchTo("notes@3", false, store.Unhindered)
	}},
	{"a new document is one of every generation", func(f *fixture) {
		two(f, "a")
		f.switchTo("notes@2", false, store.Unhindered)
		mustRegister(f, "notes", 3)
		f.append(key("new"), "1")
		seen := make(map[int64]string)
		for _, name := range []string{"notes@1", "notes@2", "notes@3"} {
			d := f.load(versioned(name, "new"))
			if d.Head != 1 || !d.Dirty() || seen[d.Epoch] != "" {
				f.Errorf("the document is %+v, its epoch that of %q", d, seen[d.Epoch])
			}
			seen[d.Epoch] = name
		}
	}},
	{"P42_ASwitchDropsWhatWasKept", func(f *fixture) {
		two(f, "a")
		f.switchTo("notes@2", false, store.Unhindered)
		run := f.load(versioned("notes@1", "a"))
		mustRegister(f, "notes", 3)
		f.mustBe("1 kept", "2 serving", "3 building")
		f.fill("notes@3")
		f.foldAll("notes@3")
		f.switchTo("notes@3", false, store.Unhindered)
		f.mustBe("2 kept", "3 serving")
		f.mustCommit(store.Stale, store.Commit{Key: run.Key, Loaded: run.Applied, Epoch: run.Epoch, Applied: 3, Failure: nil})
		f.sweep()
		f.mustView(key("a"), 3, "3 of version 3")
		f.mustView(versioned("notes@2", "a"), 3, "3 of version 2")
	}},
	{"a rollback serves what was kept", func(f *fixture) {
		two(f, "a", "b")
		f.switchTo("notes@2", false, store.Unhindered)
		f.append(key("a"), "4")
		f.foldAll("notes")
		var heard []string
		f.Cleanup(f.b.Listen(store.Listener{Switched: func(name string) { heard = append(heard, name) }}))
		f.rollback()
		if f.mustBe("1 serving", "2 set aside"); fmt.Sprint(heard) != "[notes]" {
			f.Errorf("heard of %q", heard)
		}
		f.mustView(key("a"), 3, "3 of version 1")
		f.mustRun("a") // nobody has folded it meanwhile
		f.unchangedBy(store.ErrNotFound, func() error { return f.b.Rollback(background, "notes") })
		mustRegister(f, "notes", 2)
		mustRegister(f, "notes", 3)
		f.mustBe("1 serving", "2 set aside", "3 building")
		f.append(key("b"), "4")
		f.foldAll("notes")
		f.switchTo("notes@2", false, store.Behind)
		f.foldAll("notes@2")
		f.switchTo("notes@2", false, store.Unhindered)
		f.mustBe("1 kept", "2 serving", "3 building")
		f.mustView(key("b"), 4, "4 of version 2")
		f.rollback()
		f.fill("notes@3")
		f.foldAll("notes@3")
		f.switchTo("notes@3", false, store.Unhindered)
		f.mustBe("1 kept", "3 serving")
	}},
	{"P39_WhatIsRetiredIsGone", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(300, 1200)
		appendMany(f, n)
		f.foldAll("notes")
		f.append(store.Key{Collection: "tasks", ID: "t"}, "1")
		before := contents(f.T, f.b)
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		f.append(key(number(0)), "2")
		f.foldAll("notes")
		run := f.load(versioned("notes@2", number(0)))
		late := store.Commit{Key: run.Key, Loaded: run.Applied, Epoch: run.Epoch, Applied: 2, View: []byte("late")}
		f.retire("notes@2")
		f.mustBe("1 serving")
		mustScan(f, "notes@2", "")
		if all := f.runnable("notes@2"); len(all) != 0 || len(f.operations(run.Key)) != 0 {
			f.Errorf("runnable are %v", all)
		}
		f.mustCommit(store.Stale, late)
		for what, err := range map[string]error{
			"Retire": f.b.Retire(background, "notes@2"), "Fill": func() error { _, err := f.b.Fill(background, "notes@2"); return err }(),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				f.Errorf("%s again: %v", what, err)
			}
		}
		mustRegister(f, "notes", 2) // made anew, while the old one is still being dropped
		f.fill("notes@2")
		f.mustCommit(store.Stale, late)
		f.append(key("new"), "1")
		f.sweep()
		f.mustBe("1 serving", "2 building")
		if all := f.generations("notes"); len(all) != 2 {
			f.Errorf("the generations are %+v", all)
		}
		if got := len(f.runnable("notes@2")); got != n+1 {
			f.Errorf("%d documents are to be made again, want %d", got, n+1)
		}
		f.retire("notes@2")
		f.sweep()
		f.forget(key("new"))
		if after := contents(f.T, f.b); len(after) != len(before)+1 { // and one operation
			f.Errorf("%d things are left, want %d", len(after), len(before)+1)
		}
	}},
	{"what is kept can be retired", func(f *fixture) {
		two(f, "a")
		f.switchTo("notes@2", false, store.Unhindered)
		f.retire("notes@1")
		f.mustBe("2 serving")
		f.unchangedBy(store.ErrNotFound, func() error { return f.b.Rollback(background, "notes") })
		f.sweep()
		f.append(key("a"), "4")
		f.foldAll("notes")
		f.mustView(key("a"), 4, "4 of version 2")
	}},
}
