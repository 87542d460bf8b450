package storetest

import (
	"fmt"
	"strings"

	"github.com/refold-go/refold/store"
)

// roundChecks are those of the effects of a mapping's document.
var roundChecks = []check{
	{"contributions are stored, and tell whom they concern", func(f *fixture) {
		tagged(f)
		first := f.write(key("b"), "x")
		since := f.load(mapped("tags<notes", "b")).Since
		f.write(key("a"), "y")
		heard := f.heard()
		f.contribute(mapped("tags<notes", "b"), "t=1", "u=")
		if got := heard(); got != "tags/t tags/u" {
			f.Errorf("announced is %q", got)
		}
		f.contribute(mapped("tags<notes", "a"), "t=2")
		f.mustHave(tag("t"), "0:a=2 0:b=1")
		f.mustHave(versioned("tags@1", "u"), "0:b=")
		d := f.mustLack(tag("t"), first, 2)
		if !d.Since.Time.Equal(since.Time) || d.Version != 1 || d.Applied != 0 || d.View != nil {
			f.Errorf("the document is %+v", d)
		}
		f.mustLack(tag("u"), first, 1)
		f.mustRunOf("tags", "t", "u")
		f.mustRunOf("tags<notes")
		for _, op := range f.operations(tag("t")) {
			if len(op.Body) != 0 || op.Seq == 1 && !op.Time.Equal(since.Time) {
				f.Errorf("the delta is %+v", op)
			}
		}
		f.mustHave(tag("nobody"), "")
		f.mustHave(mapped("tags<notes", "a"), "")
		f.mustHave(key("a"), "")
	}},
	{"contributions that are the same tell nobody", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"), "equal=1", "gone=1", "other=1", "void=")
		for _, id := range []string{"equal", "gone", "other", "void"} {
			f.reduce(tag(id), "made")
		}
		at := f.write(key("a"), "y")
		heard := f.heard()
		f.contribute(mapped("tags<notes", "a"), "equal=1", "new=1", "other=2", "void=")
		if got := heard(); got != "tags/gone tags/new tags/other" {
			f.Errorf("announced is %q", got)
		}
		for id, want := range map[string]string{"equal": "0:a=1", "gone": "", "new": "0:a=1", "other": "0:a=2", "void": "0:a="} {
			f.mustHave(tag(id), want)
			since, deltas := at, 1
			if id == "equal" || id == "void" {
				since, deltas = 0, 0
			}
			f.mustLack(tag(id), since, deltas)
		}
		f.write(key("a"), "z")
		f.contribute(mapped("tags<notes", "a"))
		for _, id := range []string{"equal", "gone", "new", "other", "void"} {
			f.mustHave(tag(id), "")
		}
		f.mustLack(tag("gone"), at, 1)
	}},
	{"deltas carry contributions where that is wanted", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		mustRegister(f, "notes", 1)
		f.derive(deltasOf(tags(1, "tasks", "notes")))
		for i, body := range []string{"t=1", "t=1", "t=", "", "t=22"} {
			f.write(key("a"), fmt.Sprint(i))
			var all []string
			if body != "" {
				all = []string{body, "u=1"}
			}
			f.contribute(mapped("tags<notes", "a"), all...)
		}
		var got []string
		for _, op := range f.operations(tag("t")) {
			d, err := store.ParseDelta(op.Body)
			if err != nil {
				f.Fatalf("delta %d: %v", op.Seq, err)
			}
			got = append(got, fmt.Sprintf("%d %d:%s %q %t to %q %t", op.Seq, d.Input, d.Source, d.Before, d.Before == nil, d.After, d.After == nil))
		}
		want := []string{
			`1 1:a "" true to "1" false`, `2 1:a "1" false to "" false`, `3 1:a "" false to "" true`, `4 1:a "" true to "22" false`,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			f.Errorf("the deltas are\n%q, want\n%q", got, want)
		}
		if n := len(f.operations(tag("u"))); n != 3 {
			f.Errorf("of another document there are %d deltas, want 3", n)
		}
	}},
	{"a round goes on where its last slice ended", func(f *fixture) {
		tagged(f)
		first := f.write(key("a"), "x")
		k := mapped("tags<notes", "a")
		f.contribute(k, "a=1", "b=1", "c=1", "d=1", "e=1")
		at := f.write(key("a"), "y")
		begin := f.load(k)
		f.mustCommit(store.StillDirty, f.slice(k, store.Effects{Pairs: pairs("b=2"), Upto: "c"}))
		f.mustHave(tag("a"), "")
		f.mustHave(tag("b"), "0:a=2")
		f.mustHave(tag("c"), "")
		f.mustHave(tag("d"), "0:a=1")
		d := f.mustLack(k, at, 1)
		if d.Round != (store.Round{To: 2, After: "c"}) || d.Epoch != begin.Epoch || d.Applied != 1 || d.Head != 2 {
			f.Errorf("in the round the document is %+v", d)
		}
		f.mustRunOf("tags<notes", "a")
		f.write(key("a"), "z") // what comes in during the round makes another one
		f.mustCommit(store.StillDirty, f.slice(k, store.Effects{Pairs: pairs("d=2"), Upto: "d"}))
		f.mustCommit(store.StillDirty, f.slice(k, store.Effects{Pairs: pairs("dd=1", "z=1")}))
		f.mustHave(tag("e"), "")
		f.mustHave(tag("z"), "0:a=1")
		if d := f.mustLack(k, at+1, 1); d.Round != (store.Round{}) || d.Applied != 2 || d.Head != 3 {
			f.Errorf("after the round the document is %+v", d)
		}
		f.mustLack(tag("e"), first, 2)
		f.contribute(k, "b=2")
		f.mustHave(tag("b"), "0:a=2")
		f.mustHave(tag("z"), "")
		f.mustLack(tag("b"), first, 2)
	}},
	{"the round is a part of the guard", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		k := mapped("tags<notes", "a")
		whole := f.slice(k, store.Effects{Pairs: pairs("a=1", "z=1")})
		half := f.slice(k, store.Effects{Pairs: pairs("a=1"), Upto: "m"})
		f.write(key("a"), "y")
		f.mustCommit(store.StillDirty, half) // any head beyond will do
		before := contents(f.T, f.b)
		stale := func(from store.Round, applied int64) {
			f.Helper()
			c := whole
			c.Applied, c.Effects = applied, &store.Effects{From: from, Pairs: pairs("z=2")}
			f.mustCommit(store.Stale, c)
			f.mustContain(before)
		}
		f.mustCommit(store.Stale, half)
		f.mustCommit(store.Stale, whole)
		stale(store.Round{To: 2}, 2)
		stale(store.Round{To: 2, After: "m"}, 2)
		stale(store.Round{To: 1, After: "l"}, 1)
		touch := whole
		touch.Effects = &store.Effects{From: store.Round{To: 1, Readers: true, After: "m"}, Touch: true}
		f.mustCommit(store.Stale, touch)
		f.mustContain(before)
		epoch := f.slice(k, store.Effects{Pairs: pairs("z=2")})
		epoch.Epoch++
		f.mustCommit(store.Stale, epoch)
		f.mustContain(before)
		f.mustCommit(store.StillDirty, f.slice(k, store.Effects{Pairs: pairs("z=2")}))
		fresh := f.slice(k, store.Effects{})
		fresh.Effects.From.After = "m"
		f.mustCommit(store.Stale, fresh)
		fresh.Effects.From.After = ""
		f.mustCommit(store.Done, fresh)
		f.mustCommit(store.Stale, fresh)
	}},
	{"effects that break a rule are invalid for the whole call", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.write(key("b"), "x")
		f.contribute(mapped("tags<notes", "b"), "t=1")
		k := mapped("tags<notes", "a")
		long := make([]store.Pair, store.MaxEffects+1)
		for i := range long {
			long[i].Key = fmt.Sprintf("%04d", i)
		}
		for what, change := range map[string]func(*store.Commit){
			"no effects": func(c *store.Commit) { c.Effects = nil },
			"of a derived document": func(c *store.Commit) {
				*c = f.view(tag("t"), "x")
				c.Effects = &store.Effects{From: store.Round{To: 1}}
			},
			"of a source":                func(c *store.Commit) { c.Key, c.Loaded, c.Epoch = key("a"), 1, f.load(key("a")).Epoch },
			"beyond the head":            func(c *store.Commit) { c.Applied, c.Effects.From.To = 2, 2 },
			"another end of the round":   func(c *store.Commit) { c.Effects.From.To = 2 },
			"a failure":                  func(c *store.Commit) { c.Failure = &store.Failure{Seq: 2, Attempts: 1} },
			"reads":                      func(c *store.Commit) { c.Reads = []store.Read{{Key: key("a")}} },
			"a key twice":                func(c *store.Commit) { c.Effects.Pairs = pairs("t=1", "t=1") },
			"keys not in order":          func(c *store.Commit) { c.Effects.Pairs = pairs("u=1", "t=1") },
			"a key that is none":         func(c *store.Commit) { c.Effects.Pairs = pairs("=1") },
			"a key that is not UTF-8":    func(c *store.Commit) { c.Effects.Pairs = pairs("\xff=1") },
			"a key that is too long":     func(c *store.Commit) { c.Effects.Pairs = pairs(strings.Repeat("x", store.MaxDocumentID+1)) },
			"a key beyond the slice":     func(c *store.Commit) { c.Effects.Pairs, c.Effects.Upto = pairs("t=1"), "s" },
			"too many":                   func(c *store.Commit) { c.Effects.Pairs = long },
			"a slice that goes back":     func(c *store.Commit) { c.Effects.From.After, c.Effects.Upto = "t", "s" },
			"a key that is done already": func(c *store.Commit) { c.Effects.From.After = "t" },
			"keys after the keys":        func(c *store.Commit) { c.Effects.From.Readers, c.Effects.Touch = true, true },
			"readers of contributions":   func(c *store.Commit) { c.Effects.From.Readers, c.Effects.Pairs = true, nil },
		} {
			c := f.slice(k, store.Effects{Pairs: pairs("t=1")})
			change(&c)
			if err := f.unchangedBy(store.ErrInvalid, func() error {
				_, err := f.b.Commit(background, []store.Commit{f.view(tag("t"), "fine"), c})
				if c.Key == tag("t") {
					_, err = f.b.Commit(background, []store.Commit{c})
				}
				return err
			}); err == nil {
				f.Errorf("%s went well", what)
			}
		}
	}},
	{"a delta is history if all that led to it is", func(f *fixture) {
		tagged(f)
		var got []bool
		for i, histories := range [][]bool{{true}, {true, true}, {true, false}, {false}} {
			for j, history := range histories {
				f.append(key("a"), "1")
				c := f.view(key("a"), fmt.Sprint(i, j))
				c.History = history
				f.mustCommit(store.Done, c)
			}
			f.contribute(mapped("tags<notes", "a"), fmt.Sprint("t=", i))
			got = append(got, f.operations(tag("t"))[0].History)
			f.reduce(tag("t"), "made")
		}
		if fmt.Sprint(got) != "[true true false false]" {
			f.Errorf("history of the deltas is %v", got)
		}
		f.write(key("a"), "more")
		c := f.slice(mapped("tags<notes", "a"), store.Effects{Pairs: pairs("t=more")})
		c.History = true
		f.mustCommit(store.Done, c)
		if op := f.operations(tag("t"))[0]; !op.History {
			f.Errorf("the delta of a commit that is history is %+v", op)
		}
	}},
	{"what is older comes in later", func(f *fixture) {
		tagged(f)
		for _, id := range []string{"first", "second", "third"} {
			f.write(key(id), "x")
		}
		f.contribute(mapped("tags<notes", "second"), "t=1")
		f.mustLack(tag("t"), 2, 1)
		f.contribute(mapped("tags<notes", "third"), "t=1")
		f.mustLack(tag("t"), 2, 2)
		f.contribute(mapped("tags<notes", "first"), "t=1")
		f.mustLack(tag("t"), 1, 3)
		if all := f.runnable("tags"); len(all) != 1 || all[0].Since.Position != 1 {
			f.Errorf("runnable are %+v", all)
		}
		if n := mustCount(f, "tags"); n.Dirty != 1 || n.Oldest.Since.Position != 1 {
			f.Errorf("the counts are %+v", n)
		}
		for applied := range int64(2) {
			c := f.view(tag("t"), fmt.Sprint("of ", applied+1))
			c.Applied = applied + 1
			f.mustCommit(store.StillDirty, c)
			f.mustLack(tag("t"), 1, 2-int(applied))
		}
		f.write(key("second"), "y")
		f.contribute(mapped("tags<notes", "second"), "t=2")
		c := f.view(tag("t"), "of three")
		c.Applied = 3
		f.mustCommit(store.StillDirty, c)
		f.mustLack(tag("t"), 4, 1)
	}},
}
