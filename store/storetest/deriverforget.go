package storetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/refold-go/refold/store"
)

// forgetChecks are those of derived documents whose sources are forgotten or dropped.
var forgetChecks = []check{
	{"what is forgotten contributes to nothing", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.derive(deltasOf(tags(1)))
		f.derive(deltasOf(tags(2)))
		for _, id := range []string{"a", "b"} {
			f.write(key(id), id)
			for _, name := range []string{"tags@1", "tags@2"} {
				f.contribute(mapped(name+"<notes", id), "t="+id, "u="+id)
			}
		}
		f.reduce(tag("t"), "of a and b")
		f.reduce(tag("u"), "of a and b")
		last := f.write(key("c"), "c")
		f.contribute(mapped("tags<notes", "c"), "u=c")
		run := f.load(mapped("tags<notes", "a"))
		heard := f.heard()
		f.forget(key("a"))
		if got := heard(); got != "tags/t tags/u tags@2/t tags@2/u" {
			f.Errorf("announced is %q", got)
		}
		f.mustHave(tag("t"), "0:b=b")
		f.mustHave(tag("u"), "0:b=b 0:c=c")
		f.mustHave(versioned("tags@2", "t"), "0:b=b")
		f.mustView(tag("t"), 2, "of a and b")
		f.mustLack(tag("t"), last, 1)
		f.mustLack(versioned("tags@2", "t"), 1, 3)
		for i, op := range append(f.operations(tag("t")), f.operations(versioned("tags@2", "t"))...) {
			d, err := store.ParseDelta(op.Body) // what was of a is blank, like what tells that it is gone
			if blank := i != 2; blank != (len(op.Body) == 0) || !blank && (err != nil || d.Source != "b") {
				f.Errorf("delta %d is %q", i, op.Body)
			}
		}
		mustScan(f, "tags<notes", "", "b", "c")
		mustScan(f, "tags@2<notes", "", "b", "c")
		f.mustCommit(store.Stale, store.Commit{
			Key: run.Key, Loaded: run.Applied, Epoch: run.Epoch, Applied: run.Head + 1,
			Effects: &store.Effects{From: store.Round{To: run.Head + 1}, Pairs: pairs("t=late")},
		})
		if left := contents(f.T, f.b); strings.Contains(fmt.Sprint(left), "tags<notes/a") {
			f.Errorf("there is left\n%q", left)
		}
		f.reopenIfKept()
		f.mustHave(tag("t"), "0:b=b")
		f.reduce(tag("t"), "of b")
	}},
	{"what is forgotten takes its changes along", func(f *fixture) {
		tagged(f)
		first := f.write(key("a"), "a")
		f.contribute(mapped("tags<notes", "a"), "t=1")
		f.reduce(tag("t"), "1")
		f.write(key("a"), "aa")
		f.mustCommit(store.StillDirty, f.slice(mapped("tags<notes", "a"), store.Effects{Pairs: pairs("s=2"), Upto: "s"}))
		f.write(key("b"), "b")
		f.park(mapped("tags<notes", "b"))
		f.forget(key("a"))
		f.forget(key("b"))
		mustScan(f, "tags<notes", "")
		if n := mustCount(f, "tags<notes"); n != (store.Counts{}) {
			f.Errorf("the counts are %+v", n)
		}
		for _, id := range []string{"s", "t"} {
			f.mustHave(tag(id), "")
			if d := f.load(tag(id)); !d.Dirty() || d.Since.Position <= first {
				f.Errorf("the document is %+v", d)
			}
		}
		f.foldAll("tags")
		f.mustRunOf("tags")
	}},
	{"who has read what is forgotten is told, and it is not recorded any more", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "a")
		last := f.write(key("b"), "b")
		f.touch(mapped("tags<notes", "a"), "t", "u", "v")
		both := []store.Read{f.readOf(key("a")), f.readOf(key("b"))}
		f.reduce(tag("t"), "1", both...)
		f.reduce(tag("u"), "1", f.readOf(key("b")), store.Read{Key: key("nobody")})
		build := f.view(tag("v"), "1")
		build.Reads = both
		heard := f.heard()
		f.forget(key("a"))
		if got := heard(); got != "tags/t" {
			f.Errorf("announced is %q", got)
		}
		f.mustLack(tag("t"), last, 1)
		if got := f.reads(tag("t")); got != fmt.Sprint(both[1:]) {
			f.Errorf("read is %s", got)
		}
		f.mustCommit(store.StillDirty, build) // it read what was there, and has to do without
		if got := f.reads(tag("v")); got != fmt.Sprint(both[1:]) {
			f.Errorf("read is %s", got)
		}
		if got := f.reduce(tag("v"), "2", store.Read{Key: key("a")}, both[1]); got != store.Done {
			f.Errorf("the outcome is %s", got)
		}
		if got := f.reads(tag("v")); got != fmt.Sprint(both[1:]) {
			f.Errorf("read is %s", got)
		}
		f.forget(key("nobody")) // it was never there
		if got := f.reads(tag("u")); got != fmt.Sprint(both[1:]) {
			f.Errorf("read is %s", got)
		}
	}},
	{"forgetting tells as many as there are", func(f *fixture) {
		tagged(f)
		n := store.MaxEffects + 200
		f.write(key("a"), "a")
		f.deliver(mapped("tags<notes", "a"), store.Effects{Pairs: manyTags(n, "1")})
		var commits []store.Commit
		for _, d := range collect(f.T, f.b.Scan(background, "tags", "", store.WithoutViews)) {
			commits = append(commits, store.Commit{Key: d.Key, Epoch: d.Epoch, Applied: d.Head, View: []byte("1"), Reads: []store.Read{f.readOf(key("a"))}})
		}
		f.commit(commits...)
		f.forget(key("a"))
		if c := mustCount(f, "tags"); c.Dirty != int64(n) {
			f.Errorf("the counts are %+v", c)
		}
		for _, id := range []string{number(0), number(n - 1)} {
			f.mustHave(tag(id), "")
			if got := f.reads(tag(id)); got != "[]" {
				f.Errorf("read is %s", got)
			}
		}
	}},
	{"what is forgotten during a filling is passed over", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(150, 400)
		for i := 0; i < n; i += 50 {
			appendRange(f, "notes", i, i+50)
		}
		f.foldAll("notes")
		f.derive(tags(1))
		f.fillSome("tags@1")
		f.forget(key(number(0)))
		f.forget(key(number(n - 1)))
		f.fill("tags@1")
		all := collect(f.T, f.b.Scan(background, "tags@1<notes", "", store.WithoutViews))
		if len(all) != n-2 || all[0].Key.ID != number(1) {
			f.Errorf("%d documents are filled, want %d", len(all), n-2)
		}
	}},
	{"a source cannot be dropped", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		mustRegister(f, "notes", 1)
		f.derive(tags(1, "tasks", "notes"))
		f.derive(tags(2, "notes"))
		f.derive(store.Derivation{Name: "groups", Version: 1, Sources: []string{"tags"}})
		f.write(key("a"), "a")
		refused := func(name, by string) {
			f.Helper()
			err := f.unchangedBy(store.ErrInvalid, func() error { return f.b.Drop(background, name) })
			if invalid, ok := errors.AsType[*store.InvalidError](err); !ok || !strings.Contains(invalid.Error(), by) {
				f.Errorf("error is %v, and does not name %s", err, by)
			}
		}
		refused("notes", "tags")
		refused("tasks", "tags")
		refused("tags", "groups")
		f.switchTo("tags@2", false, store.Unhindered)
		refused("tasks", "tags") // version 1 is kept
		f.retire("tags@1")
		f.drop("tasks")
		f.drop("groups")
		refused("notes", "tags")
		f.drop("tags")
		f.drop("notes")
		mustHaveCollections(f)
		f.sweep()
	}},
	{"a derived collection is dropped with all that it has", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "a")
		f.forget(key("a"))
		f.write(key("b"), "b")
		f.drop("tags")
		f.derive(tags(1))
		f.fill("tags@1")
		k := mapped("tags@1<notes", "b")
		f.deliver(k, store.Effects{Pairs: manyTags(small(50, 1500), "1")})
		f.reduce(versioned("tags@1", number(0)), "1", f.readOf(key("b")))
		f.switchTo("tags@1", false, store.Behind)
		f.foldAll("tags@1")
		f.switchTo("tags@1", false, store.Unhindered)
		f.write(key("b"), "c")
		run, build := f.slice(k, store.Effects{}), f.view(tag(number(0)), "late")
		f.derive(tags(2))
		f.drop("tags")
		mustHaveCollections(f, store.Collection{Name: "notes", Version: 1})
		for _, name := range []string{"tags", "tags@1", "tags@2", "tags<notes", "tags@1<notes", "tags@2<notes"} {
			mustScan(f, name, "")
		}
		f.mustCommit(store.Stale, run)
		f.mustCommit(store.Stale, build)
		f.sweep()
		f.derive(tags(1))
		f.fill("tags@1")
		f.mustCommit(store.Stale, run)
		f.contribute(k, "x=1")
		f.mustCommit(store.Stale, build)
		f.mustHave(versioned("tags@1", "x"), "0:b=1")
		f.mustHave(versioned("tags@1", number(0)), "")
		f.drop("tags")
		f.append(tag("plain"), "1") // a name like any other
		mustHaveCollections(f, store.Collection{Name: "notes", Version: 1}, store.Collection{Name: "tags"})
		f.drop("tags")
		f.write(key("b"), "b")
		if after := contents(f.T, f.b); strings.Contains(fmt.Sprint(after), "tags") {
			f.Errorf("there is left\n%q", after)
		}
	}},
}
