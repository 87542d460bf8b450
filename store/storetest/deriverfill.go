package storetest

import (
	"fmt"

	"github.com/refold-go/refold/store"
)

// runTags runs all that is runnable of the mappings of a generation of tags that read
// notes and tasks, and of itself: each source document contributes its view to t.
func (f *fixture) runTags(generation string) {
	f.Helper()
	for _, source := range []string{"notes", "tasks"} {
		for _, r := range f.runnable(generation + "<" + source) {
			var all []string
			if s := f.load(store.Key{Collection: source, ID: r.Key.ID}); s.View != nil {
				all = append(all, "t="+string(s.View))
			}
			f.contribute(r.Key, all...)
		}
	}
	for _, r := range f.runnable(generation) {
		f.mustCommit(store.Done, f.view(r.Key, f.contributions(r.Key)))
	}
}

// fillChecks are those of filling a generation of a derived collection, and of what is in
// the way of serving it.
var fillChecks = []check{
	{"filling gives the document of each source a delta", func(f *fixture) {
		mustRegister(f, "notes", 1)
		mustRegister(f, "tasks", 1)
		for _, id := range []string{"c", "a", "forgotten"} {
			f.write(key(id), id)
		}
		f.forget(key("forgotten"))
		f.append(key("unfolded"), "1")
		f.write(store.Key{Collection: "tasks", ID: "a"}, "x")
		end := f.load(store.Key{Collection: "tasks", ID: "a"}).Last
		f.derive(tags(1, "tasks", "notes"))
		mustScan(f, "tags@1<notes", "")
		f.write(key("later"), "x")
		at := f.write(key("c"), "y")
		heard := f.heard()
		f.fill("tags@1")
		if got := heard(); got != "" {
			f.Errorf("announced is %q", got)
		}
		g := f.generations("tags")[1]
		if !g.Filled || g.Made != 4 || g.Scanned != g.ToScan || g.ToScan < 4 {
			f.Errorf("the generation is %+v", g)
		}
		mustScan(f, "tags@1<notes", "", "a", "c", "later", "unfolded")
		mustScan(f, "tags@1<tasks", "", "a")
		f.mustLack(mapped("tags@1<notes", "a"), end, 1)
		f.mustLack(mapped("tags@1<notes", "unfolded"), end, 1)
		f.mustLack(mapped("tags@1<tasks", "a"), end, 1)
		f.mustLack(mapped("tags@1<notes", "later"), end+1, 1)
		if d := f.mustLack(mapped("tags@1<notes", "c"), end, 2); d.Last != end || f.operations(d.Key)[0].Position != at {
			f.Errorf("the document is %+v", d)
		}
		if op := f.operations(mapped("tags@1<notes", "a"))[0]; len(op.Body) != 0 || op.History {
			f.Errorf("the delta is %+v", op)
		}
		before := contents(f.T, f.b)
		f.fill("tags@1")
		f.mustContain(before)
	}},
	{"F11_AFillingMissesNothing", func(f *fixture) {
		mustRegister(f, "notes", 1)
		mustRegister(f, "tasks", 1)
		n := small(150, 700)
		for i := 0; i < n; i += 50 {
			appendRange(f, "notes", i, i+50)
			appendRange(f, "tasks", i, i+50)
		}
		f.foldAll("tasks")
		f.derive(tags(1, "notes", "tasks"))
		steps := 0
		for more := true; more; steps++ {
			f.write(store.Key{Collection: "tasks", ID: fmt.Sprint("new", steps)}, "x")
			f.append(key(fmt.Sprint("new", steps)), "x")
			last := f.generations("tags")[1]
			more = f.fillSome("tags@1")
			now := f.generations("tags")[1]
			if now.Filled == more || now.Scanned < last.Scanned || now.ToScan != last.ToScan {
				f.Errorf("Fill went from %+v to %+v", last, now)
			}
			if steps == 0 {
				for _, r := range f.runnable("tags@1<notes") {
					f.contribute(r.Key)
				}
			}
		}
		if steps < 2 {
			f.Errorf("%d documents were filled in %d steps", 2*n, steps)
		}
		if g := f.generations("tags")[1]; g.Made != int64(2*n) {
			f.Errorf("the generation is %+v", g)
		}
		f.foldAll("notes")
		for _, source := range []string{"notes", "tasks"} {
			for _, d := range collect(f.T, f.b.Scan(background, source, "", store.WithoutViews)) {
				if k := mapped("tags@1<"+source, d.Key.ID); f.load(k).Head == 0 {
					f.Errorf("there is no %s", k)
				}
			}
		}
	}},
	{"what is in the way of serving it", func(f *fixture) {
		mustRegister(f, "notes", 1)
		mustRegister(f, "tasks", 1)
		f.write(key("a"), "x")
		f.write(store.Key{Collection: "tasks", ID: "a"}, "y")
		f.derive(tags(1, "notes", "tasks"))
		stays := func(force bool, want store.Hindrance, document store.Key) {
			f.Helper()
			before := contents(f.T, f.b)
			if o := f.switchTo("tags@1", force, want); o.Document != document {
				f.Errorf("in the way is %s, want %s", o.Document, document)
			}
			f.mustContain(before)
		}
		stays(true, store.Unfilled, store.Key{})
		f.fill("tags@1")
		f.write(key("later"), "z")
		f.contribute(mapped("tags@1<notes", "a"), "t=1")
		stays(true, store.Behind, mapped("tags@1<tasks", "a"))
		f.park(mapped("tags@1<tasks", "a"))
		stays(true, store.Behind, versioned("tags@1", "t"))
		f.reduce(versioned("tags@1", "t"), "1")
		stays(false, store.ParkedBehind, mapped("tags@1<tasks", "a"))
		mustResume(f, 1, mapped("tags@1<tasks", "a"))
		f.contribute(mapped("tags@1<tasks", "a"), "t=2")
		f.park(versioned("tags@1", "t"))
		stays(false, store.ParkedBehind, versioned("tags@1", "t"))
		mustResume(f, 1, versioned("tags@1", "t"))
		f.reduce(versioned("tags@1", "t"), "2")
		f.park(mapped("tags@1<notes", "later"))
		f.switchTo("tags@1", false, store.Unhindered) // what came later is in nobody's way
		f.mustBeTags("1 serving")
		mustResume(f, 1, mapped("tags<notes", "later"))
		f.mustRunOf("tags<notes", "later")
	}},
	{"parked documents can be overruled", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.write(key("a"), "x")
		f.derive(tags(1))
		f.fill("tags@1")
		f.park(mapped("tags@1<notes", "a"))
		f.switchTo("tags@1", false, store.ParkedBehind)
		f.switchTo("tags@1", true, store.Unhindered)
		if n := mustCount(f, "tags<notes"); n.Parked != 1 {
			f.Errorf("the counts are %+v", n)
		}
	}},
	{"it is not to be behind what is served", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.runTags("tags@1")
		f.derive(tags(2))
		f.fill("tags@2")
		f.runTags("tags@2")
		f.write(key("b"), "x")
		f.runTags("tags@1")
		f.switchTo("tags@2", true, store.Behind)
		f.write(key("c"), "x")
		f.switchTo("tags@2", true, store.Behind) // since an earlier one
		f.contribute(mapped("tags@2<notes", "b"), "t=x")
		o := f.switchTo("tags@2", true, store.Behind)
		if o.Document != versioned("tags@2", "t") {
			f.Errorf("in the way is %s", o.Document)
		}
		f.runTags("tags@2")
		f.write(key("d"), "x")
		f.contribute(mapped("tags@1<notes", "c"), "t=x") // it is not through with it either
		f.switchTo("tags@2", false, store.Unhindered)
		f.mustBeTags("1 kept", "2 serving")
	}},
	{"it has all that what is served may have, whatever that lacks itself", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.runTags("tags@1")
		f.derive(tags(2))
		f.fill("tags@2")
		f.runTags("tags@2")
		f.write(key("b"), "x")
		f.contribute(mapped("tags@1<notes", "b"), "u=x")
		f.write(key("c"), "x")
		f.contribute(mapped("tags@1<notes", "c"), "v=x")
		f.reduce(tag("v"), "v") // u is dirty since before
		f.contribute(mapped("tags@2<notes", "b"), "u=x")
		f.reduce(versioned("tags@2", "u"), "u")
		hinders := func(k store.Key) {
			f.Helper()
			if o := f.switchTo("tags@2", true, store.Behind); o.Document != k {
				f.Errorf("in the way is %s, want %s", o.Document, k)
			}
		}
		hinders(mapped("tags@2<notes", "c"))
		f.contribute(mapped("tags@2<notes", "c"), "v=x")
		hinders(versioned("tags@2", "v"))
		f.reduce(versioned("tags@2", "v"), "v")
		f.write(key("d"), "x") // nobody has it
		f.switchTo("tags@2", false, store.Unhindered)
		f.mustView(tag("v"), 1, "v")
	}},
	{"a view that is the same counts, and one that was made before it was served does", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.runTags("tags@1")
		f.derive(tags(2))
		f.fill("tags@2")
		f.runTags("tags@2")
		f.write(key("a"), "y")
		f.contribute(mapped("tags@1<notes", "a"), "t=y")
		f.reduce(tag("t"), string(f.load(tag("t")).View))
		f.switchTo("tags@2", true, store.Behind)
		f.runTags("tags@2")
		f.write(key("a"), "z")
		f.runTags("tags@2") // before it is served
		f.switchTo("tags@2", false, store.Unhindered)
		f.switchTo("tags@1", true, store.Behind)
		f.runTags("tags@1")
		f.switchTo("tags@1", true, store.Unhindered)
	}},
	{"what is parked in it only is in its way, whenever it came", func(f *fixture) {
		tagged(f)
		for _, id := range []string{"a", "b"} {
			f.write(key(id), "x")
		}
		f.runTags("tags@1")
		f.derive(tags(2))
		f.fill("tags@2")
		f.runTags("tags@2")
		hinders := func(k store.Key) {
			f.Helper()
			if o := f.switchTo("tags@2", false, store.ParkedBehind); o.Document != k {
				f.Errorf("in the way is %s, want %s", o.Document, k)
			}
		}
		f.write(key("a"), "y")
		f.park(mapped("tags@2<notes", "a"))
		hinders(mapped("tags@2<notes", "a")) // it waits in the other one
		f.runTags("tags@1")
		hinders(mapped("tags@2<notes", "a"))
		mustResume(f, 1, mapped("tags@2<notes", "a"))
		f.contribute(mapped("tags@2<notes", "a"), "t=y")
		f.park(versioned("tags@2", "t"))
		hinders(versioned("tags@2", "t"))
		mustResume(f, 1, versioned("tags@2", "t"))
		f.runTags("tags@2")
		f.write(key("c"), "x")
		f.contribute(mapped("tags@2<notes", "c"), "new=x")
		f.park(versioned("tags@2", "new"))
		hinders(versioned("tags@2", "new")) // the other one has none
		f.contribute(mapped("tags@1<notes", "c"), "new=x")
		f.park(tag("new"))
		f.write(key("b"), "y")
		f.park(mapped("tags@1<notes", "b"))
		f.write(key("b"), "z")
		f.park(mapped("tags@2<notes", "b"))
		f.switchTo("tags@2", false, store.Unhindered) // they are parked in both
		f.mustBeTags("1 kept", "2 serving")
	}},
	{"what parked in it before is in its way", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.runTags("tags@1")
		f.derive(tags(2))
		f.fill("tags@2")
		f.runTags("tags@2")
		f.write(key("a"), "y")
		f.contribute(mapped("tags@2<notes", "a"), "t=y")
		f.park(versioned("tags@2", "t"))
		f.runTags("tags@1")
		f.write(key("a"), "z")
		f.contribute(mapped("tags@1<notes", "a"), "t=z")
		f.park(tag("t"))
		f.contribute(mapped("tags@2<notes", "a"), "t=z")
		f.switchTo("tags@2", false, store.ParkedBehind)
		f.switchTo("tags@2", true, store.Unhindered)
	}},
}
