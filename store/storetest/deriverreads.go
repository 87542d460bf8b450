package storetest

import (
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
)

// readChecks are those of derived documents that read their sources.
var readChecks = []check{
	{"who is named and who has read it get a delta", func(f *fixture) {
		tagged(f)
		for _, id := range []string{"a", "b"} {
			f.write(key(id), id)
			f.touch(mapped("tags<notes", id), id, "named")
			f.mustHave(tag("named"), "")
		}
		f.reduce(tag("named"), "1", f.readOf(key("b")))
		f.reduce(tag("a"), "1", f.readOf(key("b")), f.readOf(key("a")))
		f.reduce(tag("b"), "1")
		at := f.write(key("b"), "other")
		heard := f.heard()
		f.touch(mapped("tags<notes", "b"), "new")
		if got := heard(); got != "tags/a tags/named tags/new" {
			f.Errorf("announced is %q", got)
		}
		f.mustLack(tag("a"), at, 1)
		f.mustLack(tag("named"), at, 1)
		f.mustLack(tag("new"), at, 1)
		f.mustLack(tag("b"), 0, 0)
		for _, op := range f.operations(tag("new")) {
			if len(op.Body) != 0 {
				f.Errorf("the delta is %+v", op)
			}
		}
		f.mustLack(mapped("tags<notes", "b"), 0, 0)
	}},
	{"what was read is recorded, and replaced", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		mustRegister(f, "notes", 1)
		f.derive(deltasOf(tags(1, "tasks", "notes")))
		var all []store.Read
		for _, k := range []store.Key{key("b"), key("a"), {Collection: "tasks", ID: "z"}} {
			f.write(k, "x")
			all = append(all, f.readOf(k))
		}
		all = append(all, store.Read{Key: key("nobody")})
		f.touch(mapped("tags<notes", "a"), "t", "u")
		for _, op := range f.operations(tag("t")) {
			if len(op.Body) != 0 {
				f.Errorf("the delta is %+v", op)
			}
		}
		if got := f.reads(tag("t")); got != "[]" {
			f.Errorf("before there is a view, read is %s", got)
		}
		f.reduce(tag("t"), "1", all...)
		f.reduce(tag("u"), "1", all[1])
		want := []store.Read{all[1], all[0], all[3], all[2]}
		if got := f.reads(tag("t")); got != fmt.Sprint(want) || got != f.reads(versioned("tags@1", "t")) {
			f.Errorf("read is %s, want %v", got, want)
		}
		f.reopenIfKept()
		if got := f.reads(tag("t")); got != fmt.Sprint(want) {
			f.Errorf("after reopening read is %s, want %v", got, want)
		}
		f.write(key("a"), "y")
		f.touch(mapped("tags<notes", "a"))
		failed := f.view(tag("t"), "")
		failed.Applied, failed.Failure = failed.Loaded, &store.Failure{Seq: failed.Loaded + 1, Attempts: 1, Error: "e"}
		failed.Reads = all[:1]
		f.mustCommit(store.StillDirty, failed)
		if got := f.reads(tag("t")); got != fmt.Sprint(want) {
			f.Errorf("after a failure read is %s, want %v", got, want)
		}
		now := []store.Read{f.readOf(key("a"))}
		f.reduce(tag("t"), "2", now...)
		if got := f.reads(tag("t")); got != fmt.Sprint(now) {
			f.Errorf("read is %s, want %v", got, now)
		}
		f.write(key("b"), "y")
		f.touch(mapped("tags<notes", "b")) // nobody reads it any more
		f.mustRunOf("tags", "u")
		f.write(key("a"), "z")
		f.touch(mapped("tags<notes", "a"))
		f.reduce(tag("t"), "3")
		if got := f.reads(tag("t")) + f.reads(key("a")) + f.reads(tag("nobody")) + f.reads(mapped("tags<notes", "a")); got != "[][][][]" {
			f.Errorf("read is %s", got)
		}
	}},
	{"a source that changed during the build sends it round again", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.write(key("b"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		since := f.mustLack(tag("t"), 1, 1).Since
		read := []store.Read{f.readOf(key("a")), f.readOf(key("b"))}
		f.write(key("b"), "y")
		f.touch(mapped("tags<notes", "b")) // the round does not find it: it has not read yet
		heard := f.heard()
		if got := f.reduce(tag("t"), "old", read...); got != store.StillDirty {
			f.Errorf("the outcome is %s", got)
		}
		if got := heard(); got != "" {
			f.Errorf("announced is %q", got)
		}
		d := f.mustLack(tag("t"), 1, 1)
		if !d.Since.Time.Equal(since.Time) || string(d.View) != "old" || d.Applied != 1 || d.Head != 2 {
			f.Errorf("the document is %+v", d)
		}
		if op := f.operations(tag("t"))[0]; len(op.Body) != 0 || op.History {
			f.Errorf("the delta is %+v", op)
		}
		read[1] = f.readOf(key("b"))
		f.reduce(tag("t"), "new", read...)
		f.mustLack(tag("t"), 0, 0)
	}},
	{"what was recorded before is found by the round", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		f.reduce(tag("t"), "1", f.readOf(key("a")))
		old := f.readOf(key("a"))
		at := f.write(key("a"), "y")
		f.write(key("b"), "x")
		f.touch(mapped("tags<notes", "b"), "t")
		if got := f.reduce(tag("t"), "2", old); got != store.Done {
			f.Errorf("the outcome is %s", got)
		}
		f.touch(mapped("tags<notes", "a"))
		f.mustLack(tag("t"), at, 1)
	}},
	{"a delta during the build sends it round again", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		f.reduce(tag("t"), "1", f.readOf(key("a")))
		f.write(key("a"), "y")
		f.touch(mapped("tags<notes", "a"))
		build := f.view(tag("t"), "2")
		build.Reads = []store.Read{f.readOf(key("a"))}
		at := f.write(key("a"), "z")
		f.touch(mapped("tags<notes", "a"))
		f.mustCommit(store.StillDirty, build)
		f.mustLack(tag("t"), at, 1)
	}},
	{"reading what is not there is recorded", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.append(key("unfolded"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		if got := f.reduce(tag("t"), "1", f.readOf(key("b")), f.readOf(key("unfolded"))); got != store.Done {
			f.Errorf("the outcome is %s", got)
		}
		f.foldAll("notes")
		f.touch(mapped("tags<notes", "unfolded"))
		f.mustLack(tag("t"), 2, 1)
		f.write(key("b"), "x")
		f.touch(mapped("tags<notes", "b"))
		f.mustLack(tag("t"), 2, 2)
		if got := f.reduce(tag("t"), "2", f.readOf(key("b")), store.Read{Key: key("unfolded")}, store.Read{Key: key("a")}); got != store.StillDirty {
			f.Errorf("the outcome of reading too early is %s", got)
		}
	}},
	{"reads are of sources, each once", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		tagged(f)
		f.write(key("a"), "x")
		f.write(key("b"), "x")
		f.write(store.Key{Collection: "tasks", ID: "a"}, "x")
		f.touch(mapped("tags<notes", "a"), "t", "u")
		for what, reads := range map[string][]store.Read{
			"no source":         {{Key: key("a")}, {Key: store.Key{Collection: "tasks", ID: "a"}}},
			"unknown":           {{Key: store.Key{Collection: "unknown", ID: "a"}}},
			"itself":            {{Key: tag("a")}},
			"a version":         {{Key: versioned("notes@1", "a")}},
			"twice":             {{Key: key("a")}, {Key: key("b")}, {Key: key("a")}},
			"a negative number": {{Key: key("a"), Version: -1}},
			"no id":             {{Key: key("")}},
		} {
			c := f.view(tag("t"), "x")
			c.Reads = reads
			if err := f.unchangedBy(store.ErrInvalid, func() error {
				_, err := f.b.Commit(background, []store.Commit{f.view(tag("u"), "fine"), c})
				return err
			}); err == nil {
				f.Errorf("%s went well", what)
			}
		}
		f.append(key("b"), "2")
		c := f.view(key("b"), "x")
		c.Reads = []store.Read{{Key: key("a")}}
		f.unchangedBy(store.ErrInvalid, func() error { _, err := f.b.Commit(background, []store.Commit{c}); return err })
		late := f.view(tag("t"), "x")
		late.Epoch++
		late.Reads = []store.Read{{Key: store.Key{Collection: "tasks", ID: "a"}}}
		f.mustCommit(store.Stale, late)
	}},
	{"more reads than there may be are invalid", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.touch(mapped("tags<notes", "a"), "t")
		c := f.view(tag("t"), "x")
		for i := range store.MaxReads + 1 {
			c.Reads = append(c.Reads, store.Read{Key: key(number(i))})
		}
		f.unchangedBy(store.ErrInvalid, func() error { _, err := f.b.Commit(background, []store.Commit{c}); return err })
		c.Reads = c.Reads[1:]
		f.mustCommit(store.Done, c)
		if got, err := f.b.Reads(background, tag("t")); err != nil || len(got) != store.MaxReads {
			f.Errorf("%d reads are recorded, want %d: %v", len(got), store.MaxReads, err)
		}
	}},
	{"many readers take many commits", func(f *fixture) {
		tagged(f)
		n := store.MaxEffects + 50
		f.write(key("a"), "x")
		k := mapped("tags<notes", "a")
		f.deliver(k, store.Effects{Pairs: manyTags(n, ""), Touch: true})
		read := f.readOf(key("a"))
		var commits []store.Commit
		for _, d := range collect(f.T, f.b.Scan(background, "tags", "", store.WithoutViews)) {
			commits = append(commits, store.Commit{
				Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("1"), Reads: []store.Read{read},
			})
		}
		for chunk := range slices.Chunk(commits, 100) {
			f.commit(chunk...)
		}
		at := f.write(key("a"), "y")
		f.mustCommit(store.StillDirty, f.slice(k, store.Effects{Pairs: pairs("m"), Upto: "m", Touch: true}))
		if d := f.load(k); d.Round != (store.Round{To: 2, After: "m"}) {
			f.Errorf("after some keys the document is %+v", d)
		}
		f.mustCommit(store.StillDirty, f.slice(k, store.Effects{Pairs: pairs("z"), Touch: true}))
		d := f.mustLack(k, at, 1)
		if !d.Round.Readers || d.Round.To != 2 || d.Applied != 1 {
			f.Errorf("with many readers the document is %+v", d)
		}
		f.write(key("a"), "z")
		f.mustCommit(store.Stale, store.Commit{
			Key: k, Loaded: 1, Epoch: d.Epoch, Applied: 2, Effects: &store.Effects{From: store.Round{To: 2, Readers: true, After: d.Round.After + "x"}, Touch: true},
		})
		for f.load(k).Round.Readers {
			f.mustCommit(store.StillDirty, f.slice(k, store.Effects{Touch: true}))
		}
		f.mustLack(k, at+1, 1)
		if c := mustCount(f, "tags"); c.Dirty != int64(n+2) || c.Oldest.Since.Position != at {
			f.Errorf("the counts are %+v", c)
		}
		f.mustLack(tag(number(n-1)), at, 1)
		f.mustLack(tag("m"), at, 1)
	}},
	{"readers are those of the generation", func(f *fixture) {
		tagged(f)
		f.derive(tags(2))
		f.write(key("a"), "x")
		for _, name := range []string{"tags@1", "tags@2"} {
			f.touch(mapped(name+"<notes", "a"), "t")
			f.reduce(versioned(name, "t"), "1", f.readOf(key("a")))
		}
		at := f.write(key("a"), "y")
		f.touch(mapped("tags@2<notes", "a"))
		f.mustLack(versioned("tags@2", "t"), at, 1)
		f.mustLack(versioned("tags@1", "t"), 0, 0)
		f.touch(mapped("tags@1<notes", "a"))
		f.mustLack(versioned("tags@1", "t"), at, 1)
	}},
	{"a derived source is read at its last change", func(f *fixture) {
		tagged(f)
		f.derive(store.Derivation{Name: "groups", Version: 1, Sources: []string{"tags"}})
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"), "t=1")
		f.reduce(tag("t"), "same")
		f.touch(mapped("groups<tags", "t"), "g")
		read := f.readOf(tag("t"))
		f.write(key("a"), "y")
		f.contribute(mapped("tags<notes", "a"), "t=2")
		f.reduce(tag("t"), "same")
		if got := f.reduce(store.Key{Collection: "groups", ID: "g"}, "1", read); got != store.Done {
			f.Errorf("the outcome is %s", got)
		}
	}},
}
