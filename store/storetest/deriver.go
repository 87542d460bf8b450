package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// deriverChecks are those of registering derived collections.
var deriverChecks = []check{
	{"over no documents it is served at once", func(f *fixture) {
		tagged(f)
		g := f.generations("tags")[0]
		if !g.Filled || !g.Started.IsZero() || g.Made != 0 {
			f.Errorf("the generation is %+v", g)
		}
		mustHaveCollections(f, store.Collection{Name: "notes", Version: 1}, store.Collection{Name: "tags", Version: 1, Derived: true, Sources: []string{"notes"}})
		for _, name := range []string{"tags", "tags@1", "tags<notes", "tags@1<notes"} {
			if mustScan(f, name, ""); mustCount(f, name) != (store.Counts{}) {
				f.Errorf("%s has documents", name)
			}
		}
	}},
	{"over documents it is built beside an empty one", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.append(key("a"), "1")
		begin := time.Now()
		f.derive(tags(3))
		f.mustBeTags("0 serving", "3 building")
		mustHaveCollections(f, store.Collection{Name: "notes", Version: 1}, store.Collection{Name: "tags", Derived: true})
		g := f.generations("tags")
		if !g[0].Filled || !g[0].Started.IsZero() || g[1].Filled || g[1].Started.Before(begin.Add(-time.Second)) || g[1].Started.After(time.Now()) {
			f.Errorf("the generations are %+v", g)
		}
		if d := f.load(tag("x")); d.Head != 0 {
			f.Errorf("there is %+v", d)
		}
	}},
	{"the sources are those of what is served, in order", func(f *fixture) {
		mustRegister(f, "notes", 1)
		mustRegister(f, "tasks", 1)
		f.derive(tags(1))
		both := []store.Collection{{Name: "notes", Version: 1}, {Name: "tags", Version: 1, Derived: true, Sources: []string{"notes"}}, {Name: "tasks", Version: 1}}
		f.derive(tags(2, "tasks", "notes"))
		mustHaveCollections(f, both...)
		f.fill("tags@2")
		f.switchTo("tags@2", false, store.Unhindered)
		both[1].Version, both[1].Sources = 2, []string{"tasks", "notes"}
		mustHaveCollections(f, both...)
		if err := f.b.Rollback(background, "tags"); err != nil {
			f.Fatal(err)
		}
		both[1].Version, both[1].Sources = 1, []string{"notes"}
		mustHaveCollections(f, both...)
	}},
	{"a source need not be registered, and not have a view", func(f *fixture) {
		f.append(key("a"), "1")
		f.derive(tags(1))
		f.mustBeTags("0 serving", "1 building")
	}},
	{"the same again changes nothing", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		tagged(f)
		f.write(key("a"), "x")
		f.derive(tags(2, "notes", "tasks"))
		before := contents(f.T, f.b)
		f.derive(tags(1))
		f.derive(tags(2, "notes", "tasks"))
		f.mustContain(before)
	}},
	{"a version that lives has its sources and deltas for good", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		tagged(f)
		f.derive(tags(2, "notes", "tasks"))
		for _, d := range []store.Derivation{deltasOf(tags(1)), tags(1, "tasks"), tags(1, "notes", "tasks"), tags(2), tags(2, "tasks", "notes")} {
			f.unchangedBy(store.ErrInvalid, func() error { return f.b.Derive(background, d) })
		}
		f.retire("tags@2")
		f.derive(tags(2, "tasks", "notes"))
		f.derive(deltasOf(tags(3)))
	}},
	{"which versions start a generation", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.derive(tags(2))
		f.derive(tags(4))
		f.mustBeTags("2 serving", "4 building")
		for _, version := range []int{1, 3} {
			err := f.unchangedBy(store.ErrVersion, func() error { return f.b.Derive(background, tags(version)) })
			if got, ok := errors.AsType[*store.VersionError](err); !ok || *got != (store.VersionError{Collection: "tags", Stored: 4, Registered: version}) {
				f.Errorf("error is %#v", err)
			}
		}
		f.derive(tags(5))
		f.mustBeTags("2 serving", "5 building")
		f.retire("tags@5")
		f.derive(tags(3))
		f.mustBeTags("2 serving", "3 building")
	}},
	{"what is derived and what is not", func(f *fixture) {
		tagged(f)
		f.append(store.Key{Collection: "plain", ID: "a"}, "1")
		plain := tags(1)
		plain.Name = "plain"
		for what, call := range map[string]func() error{
			"a collection that has operations is derived": func() error { return f.b.Derive(background, plain) },
			"a derived one is registered":                 func() error { return f.b.Register(background, "tags", 1) },
			"a derived one is registered higher":          func() error { return f.b.Register(background, "tags", 2) },
			"no source":                                   func() error { return f.b.Derive(background, store.Derivation{Name: "new", Version: 1}) },
			"no version":                                  func() error { return f.b.Derive(background, tags(0)) },
			"a source twice":                              func() error { return f.b.Derive(background, tags(2, "notes", "plain", "notes")) },
			"a source with a version":                     func() error { return f.b.Derive(background, tags(2, "notes@1")) },
			"a name with a version":                       func() error { d := tags(2); d.Name = "tags@2"; return f.b.Derive(background, d) },
		} {
			if err := f.unchangedBy(store.ErrInvalid, call); err == nil {
				f.Errorf("%s", what)
			}
		}
		for _, sources := range [][]string{{"unknown"}, {"notes", "unknown"}} {
			d := tags(1, sources...)
			f.unchangedBy(store.ErrNotFound, func() error { return f.b.Derive(background, d) })
			d.Name = "new"
			f.unchangedBy(store.ErrNotFound, func() error { return f.b.Derive(background, d) })
		}
	}},
	{"it has as many sources as it may", func(f *fixture) {
		var sources []string
		for i := range store.MaxSources + 1 {
			sources = append(sources, fmt.Sprint("source", i))
			mustRegister(f, sources[i], 1)
		}
		f.unchangedBy(store.ErrInvalid, func() error { return f.b.Derive(background, tags(1, sources...)) })
		f.derive(tags(1, sources[1:]...))
		f.mustBeTags("1 serving")
		last := store.Key{Collection: sources[store.MaxSources], ID: "a"}
		f.write(last, "x")
		f.contribute(mapped("tags<"+last.Collection, "a"), "t=1")
		f.mustHave(tag("t"), fmt.Sprintf("%d:a=1", store.MaxSources-1))
	}},
	{"a cycle is refused by name", func(f *fixture) {
		mustRegister(f, "notes", 1)
		of := func(name string, version int, sources ...string) store.Derivation {
			return store.Derivation{Name: name, Version: version, Sources: sources}
		}
		cycle := func(d store.Derivation, want ...string) {
			f.Helper()
			err := f.unchangedBy(store.ErrInvalid, func() error { return f.b.Derive(background, d) })
			if c, ok := errors.AsType[*store.CycleError](err); !ok || !slices.Equal(c.Path, want) {
				f.Errorf("error is %v, want a cycle of %q", err, want)
			}
		}
		cycle(of("a", 1, "a"), "a", "a")
		f.derive(of("a", 1, "notes"))
		f.derive(of("b", 1, "notes", "a"))
		f.derive(of("c", 1, "b"))
		cycle(of("a", 2, "notes", "c"), "a", "c", "b", "a")
		cycle(of("b", 2, "c"), "b", "c", "b")
		f.derive(of("b", 2, "notes"))
		f.switchTo("b@2", false, store.Unhindered) // version 1 is kept
		cycle(of("a", 2, "c"), "a", "c", "b", "a")
		f.retire("b@1")
		f.derive(of("a", 2, "c"))
		cycle(of("b", 3, "a"), "b", "a", "c", "b") // version 2 of a is being built
		f.retire("a@2")
		f.derive(of("b", 3, "a"))
	}},
	{"a derived document is changed by its deltas only", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags@1<notes", "a"), "t=1")
		token := f.end()
		for _, id := range []string{"t", "other"} {
			f.refuse(store.ErrInvalid, store.Append{Key: tag(id), Entries: entries("1")})
			f.refuse(store.ErrInvalid, store.Append{Key: key("new"), Entries: entries("1")}, store.Append{Key: tag(id), Entries: entries("1")})
			for what, call := range map[string]func() error{
				"Discard": func() error { return f.b.Discard(background, discardOf(tag(id), 1)) },
				"Forget":  func() error { return f.b.Forget(background, tag(id)) },
				"Resolve": func() error {
					_, err := f.b.Resolve(background, token, []store.Key{key("a"), tag(id)})
					return err
				},
			} {
				if err := f.unchangedBy(store.ErrInvalid, call); err == nil {
					f.Errorf("%s of a derived document went well", what)
				}
			}
		}
		mustBeForgotten(f, false, tag("t"), tag("other"))
	}},
	{"deltas are not in the log", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags@1<notes", "a"), "t=1")
		f.write(key("b"), "y")
		if all := mustLog(f, store.Token{}, store.Token{}); len(all) != 2 {
			f.Errorf("the log has %d operations, want 2", len(all))
		}
		for range f.b.Discards(background, "tags") {
			f.Errorf("tags has discards")
		}
	}},
	{"derived documents survive reopening", func(f *fixture) {
		mustRegister(f, "tasks", 1)
		tagged(f)
		for _, id := range []string{"a", "b"} {
			f.write(key(id), id)
		}
		f.contribute(mapped("tags<notes", "a"), "t=1", "u=2")
		f.reduce(tag("t"), "1", f.readOf(key("a")), f.readOf(key("b")))
		f.mustCommit(store.StillDirty, f.slice(mapped("tags<notes", "b"), store.Effects{Pairs: pairs("t=3"), Upto: "tt"}))
		f.write(key("b"), "more")
		f.park(mapped("tags<notes", "b"))
		f.derive(tags(2, "tasks", "notes"))
		f.fillSome("tags@2")
		before := contents(f.T, f.b)
		f.reopen()
		f.mustContain(before)
		f.derive(tags(1))
		f.derive(tags(2, "tasks", "notes"))
		f.mustContain(before)
	}},
}

// deltasOf is a derivation whose deltas carry contributions.
func deltasOf(d store.Derivation) store.Derivation {
	d.Deltas = true
	return d
}
