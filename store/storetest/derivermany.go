package storetest

import (
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
)

// manyTags returns pairs for so many documents, in order.
func manyTags(n int, body string) (all []store.Pair) {
	for i := range n {
		all = append(all, store.Pair{Key: number(i), Body: []byte(body)})
	}
	return all
}

// manyChecks are those of rounds that take many commits, and of derived documents that
// have many deltas.
var manyChecks = []check{
	{"a source of many documents takes many commits", func(f *fixture) {
		tagged(f)
		n := 2*store.MaxEffects + 50
		at := f.write(key("a"), "x")
		k := mapped("tags<notes", "a")
		told := 0
		f.Cleanup(f.b.Listen(store.Listener{Dirty: func(keys []store.Key) {
			if told += len(keys); len(keys) > store.MaxEffects {
				f.Errorf("one commit concerns %d documents", len(keys))
			}
		}}))
		if commits := f.deliver(k, store.Effects{Pairs: manyTags(n, "1")}); commits < 3 {
			f.Errorf("%d documents took %d commits", n, commits)
		}
		if told != n {
			f.Errorf("%d documents were told, want %d", told, n)
		}
		if c := mustCount(f, "tags"); c.Dirty != int64(n) || c.Oldest.Since.Position != at {
			f.Errorf("the counts are %+v", c)
		}
		f.mustHave(tag(number(n-1)), "0:a=1")
		f.write(key("a"), "y")
		told = 0
		if commits := f.deliver(k, store.Effects{Pairs: pairs("zz=1")}); commits < 3 {
			f.Errorf("removing %d took %d commits", n, commits)
		}
		if told != n+1 {
			f.Errorf("%d documents were told, want %d", told, n+1)
		}
		f.mustHave(tag(number(0)), "")
		f.mustHave(tag(number(n-1)), "")
		f.mustHave(tag("zz"), "0:a=1")
	}},
	{"a store that stops before the end of a slice says where", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		k := mapped("tags<notes", "a")
		f.deliver(k, store.Effects{Pairs: manyTags(store.MaxEffects+100, "1")})
		f.write(key("a"), "y")
		// As many are new as are gone, so that one commit cannot do all.
		var e store.Effects
		for i := range store.MaxEffects {
			e.Pairs = append(e.Pairs, store.Pair{Key: number(i) + "x", Body: []byte("2")})
		}
		c := f.slice(k, e)
		f.mustCommit(store.StillDirty, c)
		d := f.load(k)
		if d.Round.To != 2 || d.Round.After == "" || d.Round.Readers || d.Applied != 1 {
			f.Fatalf("the document is %+v", d)
		}
		done := 0
		for _, t := range collect(f.T, f.b.Scan(background, "tags", "", store.WithoutViews)) {
			is, gone := t.Contributions == 1, !slices.ContainsFunc(e.Pairs, func(p store.Pair) bool { return p.Key == t.Key.ID })
			if ahead := t.Key.ID > d.Round.After; ahead != (is == gone) {
				f.Fatalf("%s contributes to %s, and the round is after %q", k, t.Key, d.Round.After)
			}
			if t.Key.ID <= d.Round.After {
				done++
			}
		}
		if done == 0 || done > store.MaxEffects {
			f.Errorf("one commit did %d documents", done)
		}
		f.mustCommit(store.Stale, c)
		f.deliver(k, e)
		if n := mustCount(f, "tags"); n.Dirty != 2*store.MaxEffects+100 {
			f.Errorf("the counts are %+v", n)
		}
		f.mustHave(tag(number(0)), "")
		f.mustHave(tag(number(store.MaxEffects-1)+"x"), "0:a=2")
	}},
	{"contributions are read in pages", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		mustRegister(f, "notes", 1)
		f.derive(tags(1, "tasks", "notes"))
		var want []store.Contributor
		for i := range 12 {
			for input, source := range []string{"tasks", "notes"} {
				id := fmt.Sprint(i)
				f.write(store.Key{Collection: source, ID: id}, id)
				f.contribute(mapped("tags<"+source, id), "t="+fmt.Sprintf("%04d", i))
				want = append(want, store.Contributor{Input: input, Source: id})
			}
		}
		slices.SortFunc(want, compareContributors)
		read := func(after store.Contributor, budget store.Budget) (got []store.Contributor) {
			f.Helper()
			all, err := f.b.Contributions(background, tag("t"), after, budget)
			if err != nil {
				f.Fatalf("Contributions: %v", err)
			}
			for _, c := range all {
				if got = append(got, c.Contributor); len(c.Body) != 4 {
					f.Errorf("the contribution is %+v", c)
				}
			}
			return got
		}
		for i, after := range append([]store.Contributor{{}}, want...) {
			for budget, most := range map[store.Budget]int{
				{}: 24, {Operations: 1}: 1, {Operations: 5}: 5, {Bytes: 1}: 1, {Bytes: 4}: 1, {Bytes: 15}: 3, {Bytes: 16}: 4,
				{Operations: 2, Bytes: 100}: 2, {Operations: 100, Bytes: 8}: 2,
			} {
				if got := read(after, budget); !slices.Equal(got, want[i:min(i+most, len(want))]) {
					f.Errorf("after %v within %+v are %v", after, budget, got)
				}
			}
		}
		if got := read(store.Contributor{Input: 0, Source: "99"}, store.Budget{Operations: 1}); len(got) != 1 || got[0].Input != 1 {
			f.Errorf("after the last one of an input are %v", got)
		}
		if got := read(store.Contributor{Input: 1}, store.Budget{Operations: 1}); len(got) != 1 || got[0] != want[12] {
			f.Errorf("from the second input on are %v", got)
		}
	}},
	{"a lease is kept from slice to slice", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		k := mapped("tags<notes", "a")
		holder := f.share(f.b).Holder
		epoch := f.mustLease(holder, k)
		c := f.slice(k, store.Effects{Pairs: pairs("a=1"), Upto: "m"})
		c.Keep = &longTerms
		f.mustCommit(store.StillDirty, c)
		if d := f.load(k); d.Lease.Holder != holder || d.Epoch != epoch {
			f.Errorf("after a slice the document is %+v", d)
		}
		f.lengthen(holder, true, store.Held{Key: k, Epoch: epoch})
		c = f.slice(k, store.Effects{Pairs: pairs("z=1")})
		c.Keep = &longTerms
		f.mustCommit(store.Done, c)
		if d := f.load(k); d.Lease.Holder != "" {
			f.Errorf("after the round the document is %+v", d)
		}
		t := f.mustLease(holder, versioned("tags@1", "a"))
		if d := f.load(tag("a")); d.Lease.Holder != holder || d.Epoch != t {
			f.Errorf("the derived document is %+v", d)
		}
		f.release(holder, true, store.Held{Key: tag("a"), Epoch: t})
	}},
	{"deltas are gone when they are applied", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.derive(deltasOf(tags(1)))
		for i := range 5 {
			f.write(key("a"), fmt.Sprint(i))
			f.contribute(mapped("tags<notes", "a"), fmt.Sprint("t=", i))
		}
		c := f.view(tag("t"), "of three")
		c.Applied = 3
		f.mustCommit(store.StillDirty, c)
		d := f.mustLack(tag("t"), 4, 2)
		if d.Applied != 3 || d.Head != 5 || d.Last != 5 || string(d.View) != "of three" {
			f.Errorf("the document is %+v", d)
		}
		for r, want := range map[store.Range]string{
			{}: "[4 5]", {From: 1}: "[4 5]", {From: 5}: "[5]", {To: 4}: "[4]", {To: 3}: "[]", {From: 6}: "[]", {From: 4, To: 9}: "[4 5]",
		} {
			r.Key = tag("t")
			pages, err := f.b.Operations(background, []store.Range{r}, store.Budget{})
			if err != nil {
				f.Fatalf("Operations: %v", err)
			}
			got := []int64{}
			for _, op := range pages[0] {
				got = append(got, op.Seq)
			}
			if fmt.Sprint(got) != want {
				f.Errorf("the deltas of %+v are %v, want %s", r, got, want)
			}
		}
		f.mustCommit(store.Done, f.view(tag("t"), "of all"))
		if d := f.mustLack(tag("t"), 0, 0); d.Applied != 5 || d.Head != 5 || d.Last != 5 || len(f.operations(tag("t"))) != 0 {
			f.Errorf("the document is %+v", d)
		}
		f.mustHave(tag("t"), "0:a=4")
		f.write(key("a"), "more")
		f.contribute(mapped("tags<notes", "a"))
		if ops := f.operations(tag("t")); len(ops) != 1 || ops[0].Seq != 6 {
			f.Errorf("the deltas are %+v", ops)
		}
	}},
	{"a change is history if all its deltas are", func(f *fixture) {
		tagged(f)
		f.derive(store.Derivation{Name: "groups", Version: 1, Sources: []string{"tags"}})
		at := lastChange(f)
		for i, histories := range [][]bool{{true}, {true, true}, {false, true}, {true}} {
			for j, history := range histories {
				f.appendAll(store.Append{Key: key("a"), History: history, Entries: entries("1")})
				c := f.view(key("a"), fmt.Sprint(i, j))
				c.History = history
				f.mustCommit(store.Done, c)
				f.contribute(mapped("tags<notes", "a"), fmt.Sprint("t=", i, j))
			}
			f.reduce(tag("t"), fmt.Sprint(i))
			all := collect(f.T, f.b.Changes(background, "tags", at, store.WithoutViews))
			if len(all) != 1 || all[0].History == (i == 2) {
				f.Errorf("the changes of deltas that are history %v are %+v", histories, all)
			}
			at = all[0].Cursor
			if op := f.operations(mapped("groups<tags", "t"))[0]; op.History == (i == 2) {
				f.Errorf("the delta is %+v", op)
			}
			f.contribute(mapped("groups<tags", "t"))
		}
	}},
	{"an equal view of a derived document is no change", func(f *fixture) {
		tagged(f)
		step := func(view string, deleted bool) store.Document {
			f.Helper()
			f.write(key("a"), fmt.Sprint(f.load(key("a")).Head))
			f.contribute(mapped("tags<notes", "a"), fmt.Sprint("t=", f.load(key("a")).Head))
			c := f.view(tag("t"), view)
			c.Deleted = deleted
			f.mustCommit(store.Done, c)
			return f.load(tag("t"))
		}
		last := step("x", false).Changed
		for i, s := range []struct {
			view    string
			deleted bool
			changes bool
		}{{"x", false, false}, {"y", false, true}, {"y", true, true}, {"", true, false}, {"", false, true}, {"", false, false}} {
			at := lastChange(f)
			d := step(s.view, s.deleted)
			if (d.Changed > last) != s.changes || d.Changed < last || d.Deleted != s.deleted || !d.Deleted && string(d.View) != s.view {
				f.Errorf("after step %d, and a change at %d, the document is %+v", i, last, d)
			}
			if n := len(collect(f.T, f.b.Changes(background, "tags", at, store.WithViews))); (n == 1) != s.changes {
				f.Errorf("in step %d, %d documents changed", i, n)
			}
			last = d.Changed
		}
	}},
	{"a derived document that is parked gets its deltas in silence", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"), "t=1")
		f.park(tag("t"))
		changed := f.load(tag("t")).Changed
		if changed == 0 {
			f.Errorf("parking is no change")
		}
		f.write(key("a"), "y")
		heard := f.heard()
		f.contribute(mapped("tags<notes", "a"), "t=2", "u=2")
		if got := heard(); got != "tags/u" {
			f.Errorf("announced is %q", got)
		}
		f.mustHave(tag("t"), "0:a=2")
		if d := f.mustLack(tag("t"), 1, 2); !d.Parked() || d.Failure.Seq != 1 || d.Changed != changed {
			f.Errorf("the document is %+v", d)
		}
		f.mustRunOf("tags", "u")
		mustResume(f, 1, versioned("tags@1", "t"))
		f.mustRunOf("tags", "t", "u")
		f.mustCommit(store.Done, f.view(tag("t"), "made"))
	}},
	{"a pause of a derived collection holds its mappings back too", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"), "t=1")
		f.write(key("b"), "x")
		f.pause("notes", true)
		f.append(key("c"), "x")
		f.mustRunOf("tags<notes", "b")
		f.mustRunOf("tags", "t")
		f.mustRun()
		f.pause("notes", false)
		f.pause("tags", true)
		for _, name := range []string{"tags", "tags@1", "tags<notes", "tags@1<notes"} {
			f.mustRunOf(name)
		}
		f.mustRun("c")
		holder := f.share(f.b).Holder
		for _, l := range f.lease(holder, longTerms, false, tag("t"), mapped("tags<notes", "b")) {
			if l.Why != store.NotRunnable {
				f.Errorf("a lease of what is paused: %+v", l)
			}
		}
		f.contribute(mapped("tags<notes", "b"), "t=1") // who runs already goes on
		f.pause("tags", false)
		f.mustRunOf("tags", "t")
	}},
	{"what is returned is the caller's", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		all := pairs("t=body")
		f.deliver(mapped("tags<notes", "a"), store.Effects{Pairs: all})
		reads := []store.Read{f.readOf(key("b")), f.readOf(key("a"))}
		f.reduce(tag("t"), "made", reads...)
		all[0].Body[0], reads[0].Version = 'X', 7
		before := contents(f.T, f.b)
		got, err := f.b.Contributions(background, tag("t"), store.Contributor{}, store.Budget{})
		if err != nil || string(got[0].Body) != "body" {
			f.Fatalf("Contributions: %v, %v", got, err)
		}
		got[0].Body[0] = 'Y'
		stored, err := f.b.Reads(background, tag("t"))
		if err != nil || len(stored) != 2 {
			f.Fatalf("Reads: %v, %v", stored, err)
		}
		stored[0].Version = 8
		f.mustContain(before)
	}},
}
