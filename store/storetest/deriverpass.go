package storetest

import (
	"slices"

	"github.com/refold-go/refold/store"
)

// passChecks are those of who is passed over by a round, because it has read the source as it
// is already.
var passChecks = []check{
	{"who has read what is there is not told again", func(f *fixture) {
		tagged(f)
		for _, id := range []string{"a", "b"} {
			f.write(key(id), "x")
		}
		f.touch(mapped("tags<notes", "a"), "behind", "named", "reader")
		f.touch(mapped("tags<notes", "b"))
		for _, id := range []string{"behind", "named", "reader"} {
			f.reduce(tag(id), "1", f.readOf(key("a")), f.readOf(key("b")))
		}
		f.write(key("b"), "y")
		at := f.write(key("a"), "y")
		f.touch(mapped("tags<notes", "b"))
		for _, id := range []string{"named", "reader"} { // are built before the round of a
			f.reduce(tag(id), "2", f.readOf(key("a")), f.readOf(key("b")))
		}
		heard := f.heard()
		f.touch(mapped("tags<notes", "a"), "named", "new")
		if got := heard(); got != "tags/behind tags/new" {
			f.Errorf("announced is %q", got)
		}
		for _, id := range []string{"named", "reader"} {
			f.mustLack(tag(id), 0, 0)
		}
		f.mustLack(tag("behind"), at-1, 2)
		f.mustLack(tag("new"), at, 1)
	}},
	{"who is named and has read it is told once", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		f.reduce(tag("t"), "1", f.readOf(key("a")))
		at := f.write(key("a"), "y")
		heard := f.heard()
		f.touch(mapped("tags<notes", "a"), "t")
		if got := heard(); got != "tags/t" {
			f.Errorf("announced is %q", got)
		}
		f.mustLack(tag("t"), at, 1)
	}},
	{"what is built between the keys and the readers is built once", func(f *fixture) {
		tagged(f)
		n := store.MaxEffects + 50
		all := store.Effects{Pairs: manyTags(n, ""), Touch: true}
		f.write(key("a"), "x")
		k := mapped("tags<notes", "a")
		f.deliver(k, all)
		f.buildAll(f.readOf(key("a")))
		f.write(key("a"), "y")
		for !f.load(k).Round.Readers {
			f.mustCommit(store.StillDirty, f.slice(k, all))
		}
		f.buildAll(f.readOf(key("a")))
		for f.load(k).Dirty() {
			f.commit(f.slice(k, all))
		}
		f.mustRunOf("tags")
	}},
	{"what is built of another generation of the source is built again", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.append(key("a"), "y")
		f.foldAll("notes@2")
		f.foldAll("notes@1") // later, so that its number is the higher one
		f.touch(mapped("tags<notes", "a"))
		high, low := f.readOf(key("a")), f.load(versioned("notes@2", "a")).Changed
		if high.Version <= low {
			f.Fatalf("the changes are %d and %d", high.Version, low)
		}
		f.reduce(tag("t"), "1", high)
		f.switchTo("notes@2", false, store.Unhindered)
		f.fill("tags@1")
		f.touch(mapped("tags<notes", "a"))
		f.mustRunOf("tags", "t")
	}},
	{"a run in hand that has read what is rolled back is built again", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		f.reduce(tag("t"), "1", f.readOf(key("a")))
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		f.switchTo("notes@2", false, store.Unhindered)
		f.fill("tags@1")
		f.touch(mapped("tags<notes", "a"))
		build := f.view(tag("t"), "2")
		build.Reads = []store.Read{f.readOf(key("a"))}
		f.rollback()
		f.fill("tags@1")
		f.touch(mapped("tags<notes", "a")) // what is recorded is served again
		f.mustCommit(store.StillDirty, build)
		f.mustRunOf("tags", "t")
		f.reduce(tag("t"), "3", f.readOf(key("a")))
		f.mustRunOf("tags")
	}},
	{"a run in hand does not count", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		f.reduce(tag("t"), "1", f.readOf(key("a")))
		f.write(key("b"), "x")
		f.touch(mapped("tags<notes", "b"), "t")
		early := f.view(tag("t"), "early")
		early.Reads = []store.Read{f.readOf(key("a"))}
		at := f.write(key("a"), "y")
		late := f.view(tag("t"), "late")
		late.Reads = []store.Read{f.readOf(key("a"))}
		f.touch(mapped("tags<notes", "a"), "t") // neither is stored
		f.mustLack(tag("t"), at-1, 2)
		f.mustCommit(store.StillDirty, late)
		f.mustCommit(store.Stale, early)
		f.mustLack(tag("t"), at, 1)
	}},
	{"a run in hand that has read before is told", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		f.reduce(tag("t"), "1", f.readOf(key("a")))
		f.write(key("b"), "x")
		f.touch(mapped("tags<notes", "b"), "t")
		build := f.view(tag("t"), "2")
		build.Reads = []store.Read{f.readOf(key("a"))}
		at := f.write(key("a"), "y")
		f.mustCommit(store.Done, build)
		f.touch(mapped("tags<notes", "a"))
		f.mustLack(tag("t"), at, 1)
	}},
	{"what is deleted or appears is told, and who is parked", func(f *fixture) {
		tagged(f)
		for _, id := range []string{"a", "b"} {
			f.write(key(id), "x")
			f.touch(mapped("tags<notes", id), "parked", "t")
		}
		reads := []store.Read{f.readOf(key("a")), f.readOf(key("b")), {Key: key("c")}}
		f.reduce(tag("t"), "1", reads...)
		f.reduce(tag("parked"), "1", reads...)
		at := f.write(key("a"), "y")
		f.touch(mapped("tags<notes", "a"))
		f.park(tag("parked"))
		f.append(key("b"), "2")
		gone := f.view(key("b"), "")
		gone.Deleted = true
		f.mustCommit(store.Done, gone)
		f.touch(mapped("tags<notes", "b"))
		f.write(key("c"), "x")
		f.touch(mapped("tags<notes", "c"))
		f.mustLack(tag("t"), at, 3)
		f.mustLack(tag("parked"), at, 3)
	}},
	{"what is read once more is told of what came after", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		f.reduce(tag("t"), "1", f.readOf(key("a")))
		f.write(key("a"), "y")
		f.touch(mapped("tags<notes", "a"))
		f.reduce(tag("t"), "2", f.readOf(key("a")))
		at := f.write(key("a"), "z")
		f.touch(mapped("tags<notes", "a"))
		f.mustLack(tag("t"), at, 1)
		f.reduce(tag("t"), "3") // reads it no more
		f.write(key("a"), "zz")
		f.touch(mapped("tags<notes", "a"), "t")
		f.mustLack(tag("t"), at+1, 1)
	}},
}

// buildAll stores a view of each document of tags that is dirty, which has read this.
func (f *fixture) buildAll(read store.Read) {
	f.Helper()
	var commits []store.Commit
	for _, r := range f.runnable("tags") {
		c := f.view(r.Key, "made")
		c.Reads = []store.Read{read}
		commits = append(commits, c)
	}
	for chunk := range slices.Chunk(commits, 100) {
		f.commit(chunk...)
	}
}
