package storetest

import (
	"fmt"

	"github.com/refold-go/refold/store"
)

// versioned returns the key of a note in a generation.
func versioned(name, id string) store.Key { return store.Key{Collection: name, ID: id} }

// someNotes makes a note in each state, at version 2.
func someNotes(f *fixture) {
	f.Helper()
	mustRegister(f, "notes", 2)
	for _, id := range []string{"clean", "dirty", "parked"} {
		f.append(key(id), "1", "2")
		f.fold(key(id), 1)
	}
	f.fold(key("clean"), 2)
	f.park(key("parked"))
}

// named describes all that a name of a collection gives, without the name.
func (f *fixture) named(name string) []string {
	f.Helper()
	lines := []string{}
	add := func(what string, d store.Document) {
		f.Helper()
		if d.Key.Collection != name {
			f.Errorf("%s of %q returned %s", what, name, d.Key)
		}
		d.Key.Collection = ""
		lines = append(lines, what+" "+describe(d))
	}
	for _, d := range collect(f.T, f.b.Scan(background, name, "", store.WithViews)) {
		add("scan", d)
	}
	for _, d := range collect(f.T, f.b.Parked(background, name)) {
		add("parked", d)
	}
	for _, c := range collect(f.T, f.b.Changes(background, name, store.Cursor{}, store.WithViews)) {
		add("change "+c.Cursor.String(), c.Document)
	}
	for _, r := range f.runnable(name) {
		if r.Key.Collection != name {
			f.Errorf("runnable of %q is %s", name, r.Key)
		}
		lines = append(lines, fmt.Sprint("runnable ", r.Key.ID, r.Since))
	}
	for _, id := range []string{"clean", "dirty", "parked"} {
		if d := f.load(versioned(name, id)); d.Head > 0 {
			add("load", d)
		}
		for _, op := range f.operations(versioned(name, id)) {
			lines = append(lines, fmt.Sprint("operation ", id, op.Seq, op.Position))
		}
	}
	n := mustCount(f, name)
	for _, r := range []store.Runnable{n.Oldest, n.OldestParked} {
		if r.Key != (store.Key{}) && r.Key.Collection != name {
			f.Errorf("the oldest of %q is %s", name, r.Key)
		}
	}
	if n.Dirty+n.Parked > 0 {
		lines = append(lines, fmt.Sprint("count ", n.Dirty, n.Waiting, n.Parked, n.Oldest.Key.ID, n.OldestParked.Key.ID))
	}
	return lines
}

// nameChecks are those of [store.CollectionName].
var nameChecks = []check{
	{"the version that is served names the same as the collection", func(f *fixture) {
		someNotes(f)
		want := f.named("notes")
		if len(want) < 15 {
			f.Fatalf("of the notes only %q are returned", want)
		}
		if got := f.named("notes@2"); fmt.Sprint(got) != fmt.Sprint(want) {
			f.Errorf("by its version the collection is\n%q, want\n%q", got, want)
		}
		f.pause("notes", true)
		if n := len(f.runnable("notes@2")); n != 0 {
			f.Errorf("%d documents of a paused collection are runnable by its version", n)
		}
	}},
	{"what names no generation is unknown", func(f *fixture) {
		someNotes(f)
		before := contents(f.T, f.b)
		for _, name := range []string{
			"notes@1", "notes@3", "tasks@2", "notes<tasks", "notes<notes", "notes@2<notes", "notes@", "notes@02", "notes@0", "notes@2<", "<notes", "@2", "Notes", "",
		} {
			if got := f.named(name); len(got) > 0 {
				f.Errorf("%q returns %q", name, got)
			}
			mustResume(f, 0, versioned(name, "parked"))
			c := store.Commit{Key: versioned(name, "dirty"), Loaded: 1, Epoch: f.load(key("dirty")).Epoch, Applied: 2, View: []byte("x")}
			n, err := store.ParseCollection(name)
			if n.Source != "" {
				c.Effects = &store.Effects{From: store.Round{To: c.Applied}}
			}
			if err != nil {
				f.unchangedBy(store.ErrInvalid, func() error { _, err := f.b.Commit(background, []store.Commit{c}); return err })
			} else {
				f.mustCommit(store.Stale, c)
			}
		}
		f.mustContain(before)
	}},
	{"a document has the version of its collection", func(f *fixture) {
		f.append(key("a"), "1")
		if d := f.load(key("a")); d.Version != 0 {
			f.Errorf("before there is one, the version is %d", d.Version)
		}
		if n := len(f.named("notes@1")); n != 0 {
			f.Errorf("a collection that is not registered has %d things at version 1", n)
		}
		mustRegister(f, "notes", 1)
		if d := f.load(versioned("notes@1", "a")); d.Version != 1 || d.Head != 1 {
			f.Errorf("the document is %+v", d)
		}
		if d := f.load(key("a")); d.Version != 1 {
			f.Errorf("the document is %+v", d)
		}
		if d := f.load(key("unknown")); d.Version != 0 {
			f.Errorf("a document that does not exist has version %d", d.Version)
		}
		f.drop("notes")
		f.append(key("a"), "1")
		if d, old := f.load(key("a")), f.load(versioned("notes@1", "a")); d.Version != 0 || old.Head != 0 {
			f.Errorf("in a new collection the document is %+v, by the version of the old one %+v", d, old)
		}
	}},
	{"a commit by either name is guarded by the other", func(f *fixture) {
		someNotes(f)
		var e ear
		f.Cleanup(f.b.Listen(e.listener()))
		d := f.load(key("dirty"))
		c := store.Commit{Key: versioned("notes@2", "dirty"), Loaded: d.Applied, Epoch: d.Epoch, Applied: 2, View: []byte("by version")}
		both := []store.Commit{c, c}
		both[1].Key = key("dirty")
		f.unchangedBy(store.ErrInvalid, func() error { _, err := f.b.Commit(background, both); return err })
		e.mustHaveHeard(f, "[]", "[]")
		f.mustCommit(store.Done, c)
		e.mustHaveHeard(f, "[]", "[dirty]")
		f.mustCommit(store.Stale, both[1])
		if got := f.load(key("dirty")); string(got.View) != "by version" || got.Applied != 2 {
			f.Errorf("the document is %+v", got)
		}
	}},
	{"what is served is announced by its collection", func(f *fixture) {
		someNotes(f)
		var heard []store.Key
		hear := func(keys []store.Key) { heard = append(heard, keys...) }
		f.Cleanup(f.b.Listen(store.Listener{Dirty: hear, Committed: hear}))
		mustResume(f, 1, versioned("notes@2", "parked"))
		d := f.load(versioned("notes@2", "parked"))
		f.mustCommit(store.Done, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: 2, View: []byte("2")})
		if want := []store.Key{key("parked"), key("parked")}; fmt.Sprint(heard) != fmt.Sprint(want) {
			f.Errorf("announced are %v, want %v", heard, want)
		}
	}},
	{"both names of a collection are runnable", func(f *fixture) {
		mustRegister(f, "notes", 2)
		n := small(300, 600)
		appendMany(f, n)
		seen := make(map[store.Key]int)
		last := store.Position(0)
		for _, r := range f.runnable("notes", "notes@2", "notes@1") {
			seen[r.Key]++
			if r.Since.Position < last {
				f.Errorf("%s is since %d, and comes after one since %d", r.Key, r.Since.Position, last)
			}
			last = r.Since.Position
		}
		for i := range n {
			if a, b := seen[key(number(i))], seen[versioned("notes@2", number(i))]; a != 1 || b != 1 {
				f.Errorf("document %d is returned %d times by its collection and %d times by its version", i, a, b)
			}
		}
		if len(seen) != 2*n {
			f.Errorf("%d documents are runnable, want %d", len(seen), 2*n)
		}
	}},
	{"what concerns a collection as a whole takes no version", func(f *fixture) {
		someNotes(f)
		for _, name := range []string{"notes@2", "notes@1", "notes<tasks", "notes@2<tasks"} {
			k := versioned(name, "dirty")
			f.refuse(store.ErrInvalid, store.Append{Key: k, Entries: entries("1")})
			for what, call := range map[string]func() error{
				"Register": func() error { return f.b.Register(background, name, 2) },
				"Pause":    func() error { return f.b.Pause(background, name, true) },
				"Drop":     func() error { return f.b.Drop(background, name) },
				"Forget":   func() error { return f.b.Forget(background, k) },
				"Discard":  func() error { return f.b.Discard(background, discardOf(k, 2)) },
			} {
				if err := f.unchangedBy(store.ErrInvalid, call); err == nil {
					f.Errorf("%s of %s went well", what, name)
				}
			}
			for range f.b.Discards(background, name) {
				f.Errorf("%s has discards", name)
			}
			mustResolve(f, f.end(), "[0]", k)
			mustBeForgotten(f, false, k)
		}
	}},
}
