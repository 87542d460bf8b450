package storetest

import (
	"fmt"

	"github.com/refold-go/refold/store"
)

// refillChecks are those of what becomes of a derived collection when another generation
// of a source is served.
var refillChecks = []check{
	{"a switch of a source fills its mappings again", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		mustRegister(f, "notes", 1)
		f.derive(tags(1, "notes", "tasks"))
		for _, id := range []string{"a", "b"} {
			f.write(key(id), id)
			f.write(store.Key{Collection: "tasks", ID: id}, id)
		}
		f.runTags("tags")
		f.derive(tags(2, "tasks"))
		f.fill("tags@2")
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		f.append(key("c"), "c")
		end := f.load(key("c")).Last
		f.switchTo("notes@2", true, store.Unhindered)
		g := f.generations("tags")
		if g[0].State != store.Serving || g[0].Filled || g[0].Scanned >= g[0].ToScan {
			f.Errorf("what is served is %+v", g[0])
		}
		if !g[1].Filled {
			f.Errorf("what does not read the source is %+v", g[1])
		}
		f.mustRunOf("tags<notes")
		heard := f.heard()
		f.fill("tags@1")
		if got := heard(); got != "" {
			f.Errorf("announced is %q", got)
		}
		g = f.generations("tags")
		if !g[0].Filled || g[0].State != store.Serving {
			f.Errorf("what is served is %+v", g[0])
		}
		f.mustRunOf("tags<notes", "a", "b", "c")
		f.mustLack(mapped("tags<notes", "a"), end, 1)
		f.mustRunOf("tags<tasks")
		f.contribute(mapped("tags<notes", "a"), "t=1 of version 2")
		f.contribute(mapped("tags<notes", "b"), "t=b") // as before
		f.mustLack(tag("t"), end, 1)
		f.write(key("a"), "more") // from now on version 2 tells
		f.mustLack(mapped("tags<notes", "a"), end+1, 1)
	}},
	{"a rollback of a source fills them again, and begins anew", func(f *fixture) {
		mustRegister(f, "notes", 1)
		n := small(150, 400)
		for i := 0; i < n; i += 50 {
			appendRange(f, "notes", i, i+50)
		}
		f.foldAll("notes")
		f.derive(tags(1))
		f.fill("tags@1")
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		f.switchTo("notes@2", false, store.Unhindered)
		f.switchTo("tags@1", true, store.Unfilled)
		if !f.fillSome("tags@1") {
			f.Fatalf("%d documents were filled at once", n)
		}
		f.write(store.Key{Collection: "tasks", ID: "later"}, "x")
		f.rollback()
		last := f.generations("tags")[1]
		if last.Filled || last.Scanned != 0 || last.Made != 0 || last.State != store.Building {
			f.Errorf("the generation is %+v", last)
		}
		f.fill("tags@1")
		if g := f.generations("tags")[1]; !g.Filled || g.Made != int64(n) {
			f.Errorf("the generation is %+v", g)
		}
		for _, d := range collect(f.T, f.b.Scan(background, "tags@1<notes", "", store.WithoutViews)) {
			// What had not been filled with yet is lacking for as long as before.
			if d.Last != store.Position(n) {
				f.Errorf("%s has the deltas %+v, the last one since %d, want %d", d.Key, f.operations(d.Key), d.Last, n)
			}
		}
		for _, r := range f.runnable("tags@1<notes") {
			f.contribute(r.Key)
		}
		f.switchTo("tags@1", false, store.Unhindered)
	}},
	{"until they are filled again it cannot be switched to", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.runTags("tags")
		f.derive(tags(2))
		f.fill("tags@2")
		f.runTags("tags@2")
		f.switchTo("tags@2", false, store.Unhindered)
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		f.switchTo("notes@2", false, store.Unhindered)
		f.switchTo("tags@1", true, store.Unfilled)
		f.fill("tags@2")
		f.fill("tags@1")
		f.switchTo("tags@1", true, store.Behind) // since the mark
		f.runTags("tags@1")
		f.mustHave(tag("t"), "0:a=x") // what is served has not come as far
		f.switchTo("tags@1", false, store.Unhindered)
		f.mustHave(tag("t"), "0:a=1 of version 2")
	}},
	{"a switch of a derived collection fills what is made of it", func(f *fixture) {
		tagged(f)
		f.derive(store.Derivation{Name: "groups", Version: 1, Sources: []string{"tags"}})
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"), "old=1", "t=1")
		f.reduce(tag("old"), "made")
		f.reduce(tag("t"), "made")
		for _, id := range []string{"old", "t"} {
			f.contribute(mapped("groups<tags", id), "g="+id)
		}
		f.reduce(store.Key{Collection: "groups", ID: "g"}, "made", f.readOf(tag("t")))
		f.derive(tags(2))
		f.fill("tags@2")
		f.contribute(mapped("tags@2<notes", "a"), "new=1", "t=1")
		f.reduce(versioned("tags@2", "new"), "made")
		f.reduce(versioned("tags@2", "t"), "made")
		f.switchTo("tags@2", false, store.Unhindered)
		if g := f.generations("groups")[0]; g.Filled {
			f.Errorf("what is made of it is %+v", g)
		}
		f.fill("groups@1")
		f.mustRunOf("groups<tags", "new", "old", "t") // also what there is no more
		if g := f.generations("groups")[0]; !g.Filled || g.Made != 3 || g.Scanned != g.ToScan {
			f.Errorf("what is made of it is %+v", g)
		}
		f.contribute(mapped("groups<tags", "new"), "g=new")
		f.contribute(mapped("groups<tags", "old"))
		f.mustHave(store.Key{Collection: "groups", ID: "g"}, "0:new=new 0:t=t")
	}},
	{"P40_WhatIsServedIsReadWhileItIsFilledAgain", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.runTags("tags")
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		f.switchTo("notes@2", false, store.Unhindered)
		f.mustView(tag("t"), 1, "0:a=x")
		f.fill("tags@1")
		f.mustView(tag("t"), 1, "0:a=x")
		f.runTags("tags")
		f.mustView(tag("t"), 2, fmt.Sprint("0:a=", string(f.load(key("a")).View)))
	}},
}
