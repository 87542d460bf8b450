package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// two makes notes at version 1 with a generation of version 2 beside it, of which
// everything is folded in both.
func two(f *fixture, ids ...string) {
	f.Helper()
	mustRegister(f, "notes", 1)
	for _, id := range ids {
		f.append(key(id), "1", "2", "3")
	}
	mustRegister(f, "notes", 2)
	f.fill("notes@2")
	f.foldAll("notes")
	f.foldAll("notes@2")
}

// besideChecks are those of calls while a generation lives beside the one that is
// served.
var besideChecks = []check{
	{"an append is news for every generation", func(f *fixture) {
		two(f, "a", "b")
		var e ear
		f.Cleanup(f.b.Listen(e.listener()))
		at := f.append(key("a"), "4").Operations[0].Position
		f.append(key("new"), "1")
		e.mustHaveHeard(f, "[a new]", "[]")
		for _, name := range []string{"notes", "notes@1", "notes@2"} {
			all := f.runnable(name)
			if len(all) != 2 || all[0].Key != versioned(name, "a") || all[0].Since.Position != at || all[1].Key.ID != "new" {
				f.Errorf("of %s are runnable %+v", name, all)
			}
		}
		f.append(key("a"), "5")
		if d := f.load(versioned("notes@2", "a")); d.Since.Position != at || d.Applied != 3 || d.Head != 5 {
			f.Errorf("after another append the document is %+v", d)
		}
		f.foldAll("notes@2")
		f.mustRun("a", "new")
	}},
	{"runs of one generation leave the other alone", func(f *fixture) {
		two(f, "a")
		f.mustView(key("a"), 3, "3 of version 1")
		f.mustView(versioned("notes@2", "a"), 3, "3 of version 2")
		f.append(key("a"), "4")
		var e ear
		f.Cleanup(f.b.Listen(e.listener()))
		f.park(versioned("notes@2", "a"))
		if f.load(key("a")).Parked() {
			f.Errorf("what is served is parked")
		}
		f.mustRun("a")
		if n, m := mustCount(f, "notes"), mustCount(f, "notes@2"); n.Dirty != 1 || n.Parked != 0 || m.Dirty != 0 || m.Parked != 1 {
			f.Errorf("the counts are %+v and %+v", n, m)
		}
		mustResume(f, 0, key("a"))
		mustResume(f, 1, versioned("notes@2", "a"))
		e.mustHaveHeard(f, "[a]", "[a]")
		if d := f.load(key("a")); d.Epoch == f.load(versioned("notes@2", "a")).Epoch {
			f.Errorf("in both generations the epoch is %d", d.Epoch)
		}
	}},
	{"what is not served is announced by its version", func(f *fixture) {
		two(f, "a")
		f.append(key("a"), "4")
		var heard []store.Key
		hear := func(keys []store.Key) { heard = append(heard, keys...) }
		f.Cleanup(f.b.Listen(store.Listener{Committed: hear}))
		f.foldAll("notes@1")
		f.foldAll("notes@2")
		if want := []store.Key{key("a"), versioned("notes@2", "a")}; fmt.Sprint(heard) != fmt.Sprint(want) {
			f.Errorf("announced are %v, want %v", heard, want)
		}
	}},
	{"a discard is one in every generation", func(f *fixture) {
		two(f, "behind", "ahead", "parked", "unfilled")
		mustRegister(f, "notes", 3)
		for _, id := range []string{"behind", "ahead", "parked"} {
			f.append(key(id), "4")
		}
		f.fill("notes@3")
		f.fold(versioned("notes@3", "behind"), 1)
		f.fold(versioned("notes@3", "ahead"), 4)
		f.fold(versioned("notes@3", "parked"), 3)
		f.park(versioned("notes@3", "parked"))
		f.append(key("new"), "1", "2")
		for _, id := range []string{"behind", "ahead", "parked"} {
			run := f.load(versioned("notes@3", id))
			served := f.load(key(id))
			var heard []store.Key
			stop := f.b.Listen(store.Listener{Dirty: func(keys []store.Key) { heard = append(heard, keys...) }})
			f.discard(key(id), 4)
			stop()
			f.mustCommit(store.Stale, store.Commit{Key: run.Key, Loaded: run.Applied, Epoch: run.Epoch, Applied: 4, View: []byte("late")})
			now := f.load(run.Key)
			if now.Epoch <= run.Epoch || f.load(key(id)).Epoch <= served.Epoch || now.Epoch == f.load(key(id)).Epoch {
				f.Errorf("%s has the epochs %d and %d, and had %d and %d", id, f.load(key(id)).Epoch, now.Epoch, served.Epoch, run.Epoch)
			}
			if want := map[string]int64{"behind": 1, "ahead": 0, "parked": 3}[id]; now.Applied != want || now.Parked() || !now.Dirty() {
				f.Errorf("the document is %+v", now)
			}
			if told := id != "behind"; told != (fmt.Sprint(heard) == fmt.Sprint([]store.Key{run.Key})) {
				f.Errorf("of %s is announced %v", id, heard)
			}
		}
		d := f.load(versioned("notes@3", "ahead"))
		if first := f.operations(d.Key)[0]; d.View != nil || d.Since.Position != first.Position || d.Failure != nil {
			f.Errorf("the document whose view had the operation is %+v", d)
		}
		if err := f.b.Discard(background, discardOf(key("ahead"), 1)); !errors.Is(err, store.ErrInvalid) {
			f.Errorf("what the view that is served has is discarded: %v", err)
		}
		f.foldAll("notes@3")
	}},
	{"a discard before the scan", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.append(key("a"), "1", "2")
		mustRegister(f, "notes", 2)
		f.discard(key("a"), 1)
		f.fill("notes@2")
		if op := f.operations(versioned("notes@2", "a"))[0]; !op.Discarded {
			f.Errorf("the operation is %+v", op)
		}
		f.foldAll("notes@2")
	}},
	{"P40_ForgottenInEveryGeneration", func(f *fixture) {
		two(f, "a", "b")
		mustRegister(f, "notes", 3)
		run := f.load(versioned("notes@2", "b")) // is not there any more
		f.forget(key("a"))
		f.fill("notes@3")
		for _, name := range []string{"notes", "notes@1", "notes@3"} {
			mustScan(f, name, "", "b")
		}
		if run.Head != 0 {
			f.Errorf("the generation that was replaced has %+v", run)
		}
		f.foldAll("notes@3")
		ahead := f.load(versioned("notes@3", "b"))
		f.forget(key("b"))
		f.mustCommit(store.Stale, store.Commit{Key: ahead.Key, Loaded: ahead.Applied, Epoch: ahead.Epoch, Applied: ahead.Applied, View: nil})
		mustScan(f, "notes@3", "")
		f.refuse(store.ErrForgotten, store.Append{Key: key("a"), Entries: entries("1")})
		f.sweep()
	}},
	{"a collection is dropped with all generations", func(f *fixture) {
		two(f, "a", "b")
		mustRegister(f, "notes", 3)
		f.fillSome("notes@3")
		run := f.load(versioned("notes@3", "a"))
		f.drop("notes")
		f.mustBe()
		for _, name := range []string{"notes@1", "notes@2", "notes@3"} {
			mustScan(f, name, "")
		}
		f.append(key("a"), "1")
		mustRegister(f, "notes", 3)
		f.mustBe("3 serving")
		f.mustCommit(store.Stale, store.Commit{Key: run.Key, Loaded: run.Applied, Epoch: run.Epoch, Applied: 1, View: []byte("late")})
		f.foldAll("notes")
		f.sweep()
	}},
	{"a pause holds back all", func(f *fixture) {
		two(f, "a")
		f.append(key("a"), "4")
		f.pause("notes", true)
		for _, name := range []string{"notes", "notes@1", "notes@2"} {
			if all := f.runnable(name); len(all) != 0 {
				f.Errorf("%s has the runnable %v", name, all)
			}
		}
		f.pause("notes", false)
		f.foldAll("notes@2")
	}},
	{"what is served is held for a while", func(f *fixture) {
		two(f, "a")
		f.append(key("a"), "4")
		mine := time.Time{}
		hold := func(d time.Duration) { mine = f.hold("notes", mine, d) }
		hold(time.Hour) // cut to a minute
		if n, m, o := len(f.runnable("notes")), len(f.runnable("notes@1")), len(f.runnable("notes@2")); n != 0 || m != 0 || o != 1 {
			f.Errorf("runnable are %d, %d by its version and %d of the other generation", n, m, o)
		}
		if f.fold(key("a"), 4) != store.Done {
			f.Errorf("a run in hand was not stored")
		}
		f.append(key("a"), "5")
		if left := f.held("notes"); left <= 0 || left > store.MaxHold {
			f.Errorf("it is held for %v", left)
		}
		hold(0)
		if left := f.held("notes"); left != 0 {
			f.Errorf("it is held for %v when that was ended", left)
		}
		f.mustRun("a")
		hold(20 * time.Millisecond)
		for deadline := time.Now().Add(patience); len(f.runnable("notes")) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				f.Fatal("the hold does not end")
			}
		}
		hold(time.Minute)
		f.foldAll("notes@2")
		f.switchTo("notes@2", false, store.Unhindered)
		f.append(key("a"), "6")
		f.mustRun("a")
	}},
	{"what one holds another one does not end", func(f *fixture) {
		two(f, "a")
		f.append(key("a"), "4")
		none := time.Time{}
		first := f.hold("notes", none, store.MaxHold/2)
		left := f.held("notes")
		if left <= 0 || first.IsZero() {
			f.Fatalf("it is held for %v until %v", left, first)
		}
		for _, mine := range []time.Time{none, first.Add(-time.Second), first.Add(time.Nanosecond)} {
			for _, d := range []time.Duration{store.MaxHold, 0, -1} {
				if until := f.hold("notes", mine, d); !until.IsZero() {
					f.Errorf("it is held until %v by one who does not hold it", until)
				}
				if now := f.held("notes"); now <= 0 || now > left {
					f.Errorf("it is held for %v yet, and was for %v", now, left)
				}
			}
		}
		longer := f.hold("notes", first, store.MaxHold)
		if now := f.held("notes"); now <= left || !longer.After(first) {
			f.Errorf("who holds it holds it for %v until %v", now, longer)
		}
		f.hold("notes", first, 0)
		f.mustRun()
		if until := f.hold("notes", longer, 0); !until.IsZero() {
			f.Errorf("it was ended, and is held until %v", until)
		}
		f.mustRun("a")
		short := f.hold("notes", none, 10*time.Millisecond)
		for deadline := time.Now().Add(patience); f.held("notes") > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				f.Fatal("the hold does not end")
			}
		}
		next := f.hold("notes", none, store.MaxHold)
		if f.hold("notes", short, 0); next.IsZero() || f.held("notes") <= 0 {
			f.Errorf("what was over has ended what came after it")
		}
		f.hold("notes", next, 0)
	}},
	{"generations survive reopening", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(400, 2500)
		appendMany(f, n)
		f.foldAll("notes")
		mustRegister(f, "notes", 2)
		f.fillSome("notes@2")
		before, states := contents(f.T, f.b), fmt.Sprint(f.generations("notes"))
		f.reopen()
		f.mustContain(before)
		if now := fmt.Sprint(f.generations("notes")); now != states {
			f.Errorf("the generations are %s, and were %s", now, states)
		}
		f.rebuild(2)
		before, states = contents(f.T, f.b), fmt.Sprint(f.generations("notes"))
		f.reopen()
		f.mustContain(before)
		if now := fmt.Sprint(f.generations("notes")); now != states {
			f.Errorf("the generations are %s, and were %s", now, states)
		}
		f.rollback()
		f.mustBe("1 serving", "2 set aside")
	}},
	{"another handle appends to every generation", func(f *fixture) {
		if f.Second == nil {
			f.Skip("there is no second handle")
		}
		second := f.Second(f.T, f.b)
		f.closeAtEnd(second)
		if _, err := second.Append(background, []store.Append{{Key: key("a"), Entries: entries("1")}}); err != nil {
			f.Fatal(err)
		}
		two(f, "a")
		if _, err := second.Append(background, []store.Append{{Key: key("a"), Entries: entries("1")}, {Key: key("b"), Entries: entries("1")}}); err != nil {
			f.Fatal(err)
		}
		if n := len(f.runnable("notes@2")); n != 2 {
			f.Errorf("%d documents are runnable in the new generation, want 2", n)
		}
	}},
}
