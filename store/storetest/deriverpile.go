package storetest

import (
	"fmt"
	"strings"

	"github.com/refold-go/refold/store"
)

// pileChecks are those of deltas that nobody applies.
var pileChecks = []check{
	{"deltas without contributions do not pile up", func(f *fixture) {
		tagged(f)
		k := mapped("tags<notes", "a")
		var first, last store.Position
		for i := range 10 { // nobody runs the mapping
			last = f.write(key("a"), fmt.Sprint(i))
			if i == 0 {
				first = last
			}
		}
		f.mustBeFew(k, 1, first, 10, first+1)
		if d := f.mustLack(k, first, 10); d.Last != last {
			f.Errorf("the document is %+v", d)
		}
		for i := range 10 { // nor the derived document
			last = f.write(key("a"), fmt.Sprint("more ", i))
			f.contribute(k, fmt.Sprint("t=", i))
		}
		f.mustBeFew(tag("t"), 1, first, 10, last-8)
		f.mustHave(tag("t"), "0:a=9")
		f.reduce(tag("t"), "of all")
		f.mustLack(tag("t"), 0, 0)
		f.park(f.touched("t", "b"))
		for i, id := range []string{"c", "d", "b", "c"} {
			f.write(key(id), fmt.Sprint(i))
			f.touch(mapped("tags<notes", id), "t")
		}
		f.mustBeFew(tag("t"), 11, last+1, 15, last+2)
	}},
	{"a run in hand leaves what came after it", func(f *fixture) {
		tagged(f)
		k := mapped("tags<notes", "a")
		first := f.write(key("a"), "1")
		f.write(key("a"), "2")
		f.contribute(k, "t=2")
		f.write(key("a"), "3")
		f.contribute(k, "t=3")
		build := f.view(tag("t"), "of 3")
		for i := 4; i < 8; i++ {
			f.write(key("a"), fmt.Sprint(i))
			f.contribute(k, fmt.Sprint("t=", i))
		}
		f.mustCommit(store.StillDirty, build)
		d := f.load(tag("t"))
		if d.Applied != 2 || d.Head != 6 || d.Since.Position <= first || d.Since.Position > first+3 || len(f.operations(tag("t"))) != 1 {
			f.Errorf("the document is %+v", d)
		}
		f.reduce(tag("t"), "of 7")
		f.mustLack(tag("t"), 0, 0)

		f.write(key("a"), "8")
		f.write(key("a"), "9")
		round := f.slice(k, store.Effects{Pairs: pairs("t=9")})
		at := f.write(key("a"), "10")
		f.mustCommit(store.StillDirty, round)
		if d := f.load(k); d.Since.Position > at || d.Since.Position < at-2 || d.Head-d.Applied != 1 {
			f.Errorf("the document of the mapping is %+v", d)
		}
	}},
	{"history is what all of them are", func(f *fixture) {
		tagged(f)
		k := mapped("tags<notes", "a")
		for i, history := range []bool{true, true, false, true, true} {
			f.appendAll(store.Append{Key: key("a"), History: history, Entries: entries("1")})
			c := f.view(key("a"), fmt.Sprint(i))
			c.History = history
			f.mustCommit(store.Done, c)
		}
		ops := f.operations(k)
		if len(ops) != 2 || !ops[0].History || ops[1].History {
			f.Fatalf("the deltas are %+v", ops)
		}
		at := lastChange(f)
		f.contribute(k, "t=1")
		f.reduce(tag("t"), "made")
		all := collect(f.T, f.b.Changes(background, "tags", at, store.WithoutViews))
		if len(all) != 1 || all[0].History {
			f.Errorf("the changes are %+v", all)
		}
	}},
	{"what is news stays so if more comes before it is stored", func(f *fixture) {
		tagged(f)
		k := mapped("tags<notes", "a")
		change := func(view string, history bool) {
			f.Helper()
			f.appendAll(store.Append{Key: key("a"), History: history, Entries: entries("1")})
			c := f.view(key("a"), view)
			c.History = history
			f.mustCommit(store.Done, c)
			f.contribute(k, "t="+view)
		}
		at := lastChange(f)
		change("1", true)
		change("2", false)
		build := f.view(tag("t"), "of 2")
		change("3", true) // stands for the one before it
		f.mustCommit(store.StillDirty, build)
		all := collect(f.T, f.b.Changes(background, "tags", at, store.WithoutViews))
		if len(all) != 1 || all[0].History {
			f.Errorf("the changes are %+v", all)
		}
	}},
	{"deltas of a parked document are merged by who contributes", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.derive(deltasOf(tags(1)))
		at := f.write(key("a"), "0")
		f.contribute(mapped("tags<notes", "a"), "t=0")
		f.reduce(tag("t"), "a=0")
		f.write(key("a"), "1")
		f.contribute(mapped("tags<notes", "a"), "t=1")
		f.write(key("b"), "1")
		f.contribute(mapped("tags<notes", "b"), "t=1")
		build := f.view(tag("t"), "early")
		f.park(tag("t"))
		heard := f.heard()
		for i := 2; i < 10; i++ {
			for _, id := range []string{"a", "b", "c"} {
				f.write(key(id), fmt.Sprint(i))
				f.contribute(mapped("tags<notes", id), fmt.Sprint("t=", i))
			}
		}
		f.write(key("b"), "")
		f.contribute(mapped("tags<notes", "b"))
		for _, view := range []string{"x", "xx"} { // comes and goes
			f.write(key("d"), view)
			f.contribute(mapped("tags<notes", "d"), "t="+view)
		}
		f.write(key("d"), "")
		f.contribute(mapped("tags<notes", "d"))
		if got := heard(); strings.Contains(got, "tags/t") {
			f.Errorf("announced is %q", got)
		}
		f.mustHave(tag("t"), "0:a=9 0:c=9")
		f.mustLack(tag("t"), at+1, 4)
		f.mustBeDeltas(tag("t"), `0:a "0" to "9"`, `0:b none to none`, `0:c none to "9"`, `0:d none to none`)
		f.reopenIfKept()
		mustResume(f, 1, tag("t"))
		f.mustCommit(store.Stale, build)
		f.write(key("a"), "10")
		f.contribute(mapped("tags<notes", "a"), "t=10") // it is not parked any more
		f.mustBeDeltas(tag("t"), `0:a "0" to "9"`, `0:b none to none`, `0:c none to "9"`, `0:d none to none`, `0:a "9" to "10"`)
		f.mustCommit(store.Done, f.view(tag("t"), "a=10 c=9"))
	}},
	{"what is forgotten is not in deltas that were merged", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.derive(deltasOf(tags(1)))
		for i := range 3 {
			for _, id := range []string{"a", "b"} {
				f.write(key(id), fmt.Sprint(i))
				f.contribute(mapped("tags<notes", id), fmt.Sprint("t=secret ", id, i))
			}
			if i == 0 {
				f.park(tag("t"))
			}
		}
		f.mustBeDeltas(tag("t"), `0:a none to "secret a2"`, `0:b none to "secret b2"`)
		f.forget(key("a"))
		f.mustBeDeltas(tag("t"), "blank", `0:b none to "secret b2"`, "blank")
		f.mustHave(tag("t"), "0:b=secret b2")
	}},
}

// touched writes a note that names a document of tags, and returns that.
func (f *fixture) touched(id, note string) store.Key {
	f.Helper()
	f.write(key(note), "touches "+id)
	f.touch(mapped("tags<notes", note), id)
	return tag(id)
}

// mustBeFew checks that a document has two deltas: with this seq and since, and with those.
func (f *fixture) mustBeFew(k store.Key, seq int64, since store.Position, last int64, lastSince store.Position) {
	f.Helper()
	ops := f.operations(k)
	if len(ops) != 2 || ops[0].Seq != seq || ops[0].Position != since || ops[1].Seq != last || ops[1].Position != lastSince {
		f.Fatalf("%s has the deltas %+v, want %d since %d and %d since %d", k, ops, seq, since, last, lastSince)
	}
	if d := f.load(k); d.Head != last || d.Since.Position != min(since, lastSince) {
		f.Fatalf("the document is %+v", d)
	}
}

// mustBeDeltas compares the deltas of a document.
func (f *fixture) mustBeDeltas(k store.Key, want ...string) {
	f.Helper()
	text := func(body []byte) string {
		if body == nil {
			return "none"
		}
		return fmt.Sprintf("%q", body)
	}
	var got []string
	for _, op := range f.operations(k) {
		d, err := store.ParseDelta(op.Body)
		if err != nil {
			got = append(got, "blank")
			continue
		}
		got = append(got, fmt.Sprintf("%d:%s %s to %s", d.Input, d.Source, text(d.Before), text(d.After)))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		f.Errorf("%s has the deltas %q, want %q", k, got, want)
	}
}
