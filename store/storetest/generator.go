package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }

var generatorChecks = []check{
	{"a higher version starts a generation that is not served", func(f *fixture) {
		someNotes(f)
		before := f.named("notes")
		begin := time.Now()
		mustRegister(f, "notes", 3)
		f.mustBe("2 serving", "3 building")
		if got := f.named("notes"); fmt.Sprint(got) != fmt.Sprint(before) || f.servedVersion("notes") != 2 {
			f.Errorf("the collection is at version %d and\n%q, was\n%q", f.servedVersion("notes"), got, before)
		}
		if d := f.load(versioned("notes@3", "clean")); d.Head != 0 {
			f.Errorf("before Fill there is %+v", d)
		}
		g := f.generations("notes")
		if !g[0].Filled || !g[0].Started.IsZero() || g[1].Filled || g[1].Made != 0 || g[1].Started.Before(begin.Add(-time.Second)) || g[1].Started.After(time.Now()) {
			f.Errorf("the generations are %+v", g)
		}
		f.fill("notes@3")
		if g = f.generations("notes"); !g[1].Filled || g[1].Made != 3 || g[1].Scanned != g[1].ToScan {
			f.Errorf("afterwards they are %+v", g)
		}
		for _, id := range []string{"clean", "dirty", "parked"} {
			d, operations := f.load(versioned("notes@3", id)), f.operations(versioned("notes@3", id))
			if d.Head != 2 || d.Applied != 0 || d.View != nil || d.Failure != nil || d.Version != 3 || len(operations) != 2 ||
				d.Since.Position != operations[0].Position || d.Since.Time.IsZero() {
				f.Errorf("the document is %+v", d)
			}
		}
	}},
	{"which versions start a generation", func(f *fixture) {
		f.append(key("a"), "1")
		mustRegister(f, "notes", 2)
		mustRegister(f, "notes", 4)
		f.fill("notes@4")
		before := contents(f.T, f.b)
		mustRegister(f, "notes", 2)
		mustRegister(f, "notes", 4)
		f.mustContain(before)
		for _, version := range []int{1, 3} {
			err := f.unchangedBy(store.ErrVersion, func() error { return f.b.Register(background, "notes", version) })
			if got, ok := errors.AsType[*store.VersionError](err); !ok || got.Stored != 4 || got.Registered != version {
				f.Errorf("error is %#v", err)
			}
		}
		mustRegister(f, "notes", 5)
		f.mustBe("2 serving", "5 building")
		if d := f.load(versioned("notes@4", "a")); d.Head != 0 {
			f.Errorf("what was being built is still there: %+v", d)
		}
		f.rebuild(5)
		mustRegister(f, "notes", 2)
		f.mustBe("2 kept", "5 serving")
		f.unchangedBy(store.ErrVersion, func() error { return f.b.Register(background, "notes", 4) })
	}},
	{"F11_AppendsDuringTheScanAreInOne", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(400, 2500)
		for i := 0; i < n; i += 50 {
			appendRange(f, "notes", i, i+50)
			appendRange(f, "tasks", i, i+50)
		}
		want := make(map[string]int64)
		for i := range n {
			want[number(i)] = 1
		}
		last := f.end()
		add := func(id string) { f.append(key(id), "x"); want[id]++ }
		mustRegister(f, "notes", 2)
		step := 0
		for more := true; more; step++ {
			add(number(0))
			add(number(n - 1))
			add(fmt.Sprint("new", step))
			more = f.fillSome("notes@2")
			add(number(step * 7 % n))
			if step == 0 { // a row that has moved on is left alone
				f.foldAll("notes@2")
			}
		}
		f.fillSome("notes@2")
		got := 0
		for _, d := range collect(f.T, f.b.Scan(background, "notes@2", "", store.WithoutViews)) {
			got++
			if d.Head != want[d.Key.ID] || d.Applied > d.Head {
				f.Errorf("%s has %d operations, %d of them in its view, want %d", d.Key, d.Head, d.Applied, want[d.Key.ID])
			}
			if d.Dirty() {
				if first := f.operations(d.Key)[d.Applied]; d.Since.Position != first.Position {
					f.Errorf("%s is since %d, and lacks what is at %d", d.Key, d.Since.Position, first.Position)
				}
			}
		}
		if got != len(want) {
			f.Errorf("the generation has %d documents, want %d", got, len(want))
		}
		if made := f.generations("notes")[1].Made; made != int64(n) {
			f.Errorf("Fill made %d rows for %d documents", made, n)
		}
		if last == f.end() {
			f.Errorf("nothing was appended")
		}
	}},
	{"F12_TwoThatFillMakeEachRowOnce", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(300, 2500)
		appendMany(f, n)
		mustRegister(f, "notes", 2)
		others := []store.Backend{f.b, f.b}
		if f.Second != nil {
			second := f.Second(f.T, f.b)
			f.closeAtEnd(second)
			others[1] = second
		}
		var group sync.WaitGroup
		for _, b := range others {
			group.Go(func() {
				for more := true; more; {
					var err error
					if more, err = b.Fill(background, "notes@2"); err != nil {
						f.Errorf("Fill: %v", err)
					}
				}
			})
		}
		group.Wait()
		g := f.generations("notes")[1]
		if !g.Filled || g.Made != int64(n) || len(f.runnable("notes@2")) != n {
			f.Errorf("of %d documents are made %+v, %d are runnable", n, g, len(f.runnable("notes@2")))
		}
	}},
	{"fill is in order of the first operations", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(300, 2500)
		appendMany(f, n)
		mustRegister(f, "notes", 2)
		more := f.fillSome("notes@2")
		some := f.runnable("notes@2")
		f.fill("notes@2")
		all := f.runnable("notes@2")
		if len(some) == 0 || more != (len(some) < n) || len(all) != n {
			f.Fatalf("the first call made %d documents and said %t, all are %d of %d", len(some), more, len(all), n)
		}
		for i := range some {
			if some[i].Key != all[i].Key {
				f.Fatalf("document %d is %s, and was %s", i, all[i].Key, some[i].Key)
			}
		}
	}},
	{"P41_NoneAndOneDocument", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.rebuild(2)
		f.mustBe("1 kept", "2 serving")
		f.append(key("a"), "1")
		f.foldAll("notes")
		f.rebuild(3)
		f.mustView(key("a"), 1, "1 of version 3")
		f.mustBe("2 kept", "3 serving")
	}},
	{"P43_ASparseCollection", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(300, 3000)
		appendRange(f, "notes", 0, 5)
		for i := 0; i < n; i += 100 {
			appendRange(f, "tasks", i, i+100)
		}
		appendRange(f, "notes", 5, 10)
		f.rebuild(2)
		if all := collect(f.T, f.b.Scan(background, "notes", "", store.WithoutViews)); len(all) != 10 || all[9].Version != 2 {
			f.Errorf("the documents are %+v", all)
		}
	}},
	{"names without a generation", func(f *fixture) {
		someNotes(f)
		calls := func(name string) map[string]func() error {
			return map[string]func() error{
				"Fill":   func() error { _, err := f.b.Fill(background, name); return err },
				"Switch": func() error { _, err := f.b.Switch(background, name, store.SwitchTerms{Force: true}); return err },
				"Retire": func() error { return f.b.Retire(background, name) },
			}
		}
		for name, want := range map[string]error{
			"notes": store.ErrInvalid, "notes@": store.ErrInvalid, "notes@2<tasks": store.ErrInvalid, "": store.ErrInvalid,
			"notes@3": store.ErrNotFound, "tasks@1": store.ErrNotFound,
		} {
			for what, call := range calls(name) {
				if err := f.unchangedBy(want, call); !errors.Is(err, want) {
					f.Errorf("%s of %q: %v", what, name, err)
				}
			}
		}
		for name, want := range map[string]error{"notes@2": store.ErrInvalid, "tasks": store.ErrNotFound, "": store.ErrNotFound} {
			f.unchangedBy(want, func() error { return f.b.Rollback(background, name) })
			f.unchangedBy(want, func() error { _, err := f.b.Hold(background, name, time.Time{}, time.Second); return err })
		}
		f.unchangedBy(store.ErrNotFound, func() error { return f.b.Rollback(background, "notes") })
		f.unchangedBy(store.ErrInvalid, calls("notes@2")["Retire"])
		if f.fillSome("notes@2") {
			f.Errorf("there is something to fill in what is served")
		}
		f.switchTo("notes@2", false, store.Unhindered)
		for _, name := range []string{"tasks", "notes@2", ""} {
			if all := f.generations(name); len(all) != 0 {
				f.Errorf("%q has the generations %+v", name, all)
			}
		}
	}},
}

// appendRange appends an operation to each of some documents, in one call.
func appendRange(f *fixture, collection string, from, to int) {
	f.Helper()
	var appends []store.Append
	for i := from; i < to; i++ {
		appends = append(appends, store.Append{Key: store.Key{Collection: collection, ID: number(i)}, Entries: entries("1")})
	}
	f.appendAll(appends...)
}
