package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/refold-go/refold/store"
)

var registrarChecks = []check{
	{"register makes a collection", func(f *fixture) {
		mustHaveCollections(f)
		mustRegister(f, "notes", 3)
		mustRegister(f, "a-b_c9", 1)
		mustHaveCollections(f, store.Collection{Name: "a-b_c9", Version: 1}, store.Collection{Name: "notes", Version: 3})
		if n := len(collect(f.T, f.b.Scan(background, "notes", "", store.WithViews))); n != 0 {
			f.Errorf("a new collection has %d documents", n)
		}
	}},
	{"registering again changes nothing", func(f *fixture) {
		mustRegister(f, "notes", 2)
		f.append(key("a"), "1")
		before := contents(f.T, f.b)
		mustRegister(f, "notes", 2)
		f.mustContain(before)
	}},
	{"the first append makes a collection without a version", func(f *fixture) {
		f.append(key("a"), "1")
		mustHaveCollections(f, store.Collection{Name: "notes"})
		mustRegister(f, "notes", 5)
		mustHaveCollections(f, store.Collection{Name: "notes", Version: 5})
		f.mustRun("a")
	}},
	{"an append leaves the version", func(f *fixture) {
		mustRegister(f, "notes", 5)
		f.append(key("a"), "1")
		mustHaveCollections(f, store.Collection{Name: "notes", Version: 5})
	}},
	{"a lower version is refused and changes nothing", func(f *fixture) {
		mustRegister(f, "notes", 3)
		f.append(key("a"), "1")
		for _, version := range []int{1, 2} {
			err := f.unchangedBy(store.ErrVersion, func() error { return f.b.Register(background, "notes", version) })
			got, ok := errors.AsType[*store.VersionError](err)
			if !ok || *got != (store.VersionError{Collection: "notes", Stored: 3, Registered: version}) {
				f.Errorf("error is %#v, want notes stored at 3 and registered at %d", err, version)
			}
		}
	}},
	{"many may register and append at once", func(f *fixture) {
		var group sync.WaitGroup
		for n := range 12 {
			group.Go(func() {
				name := fmt.Sprint("c", n%3)
				if n%2 == 0 {
					if err := f.b.Register(background, name, 4); err != nil {
						f.Errorf("Register: %v", err)
					}
				} else if _, err := f.b.Append(background, []store.Append{{
					Key: store.Key{Collection: name, ID: fmt.Sprint(n)}, Entries: entries("1"),
				}}); err != nil {
					f.Errorf("Append: %v", err)
				}
			})
		}
		group.Wait()
		mustHaveCollections(f, store.Collection{Name: "c0", Version: 4}, store.Collection{Name: "c1", Version: 4}, store.Collection{Name: "c2", Version: 4})
	}},
	{"of many versions one is served and the highest is built", func(f *fixture) {
		const n = 8
		var group sync.WaitGroup
		for i := range n {
			group.Go(func() {
				if err := f.b.Register(background, "notes", i+1); err != nil && !errors.Is(err, store.ErrVersion) {
					f.Errorf("Register: %v", err)
				}
			})
		}
		group.Wait()
		got := f.states("notes")
		if served := f.servedVersion("notes"); served == n && fmt.Sprint(got) != fmt.Sprintf("[%d serving]", n) ||
			served < n && fmt.Sprint(got) != fmt.Sprintf("[%d serving %d building]", served, n) {
			f.Errorf("the generations are %v", got)
		}
	}},
	{"names and versions have limits", func(f *fixture) {
		for _, name := range []string{"", "Notes", "1notes", "no tes", "notes/x", "_notes", "nötes"} {
			f.unchangedBy(store.ErrInvalid, func() error { return f.b.Register(background, name, 1) })
		}
		for _, version := range []int{0, -1} {
			f.unchangedBy(store.ErrInvalid, func() error { return f.b.Register(background, "notes", version) })
		}
	}},
	{"collections come in order of name", func(f *fixture) {
		var want []store.Collection
		for i := range 20 {
			f.append(store.Key{Collection: fmt.Sprintf("c%02d", i*7%20), ID: "a"}, "1")
			want = append(want, store.Collection{Name: fmt.Sprintf("c%02d", i)})
		}
		mustHaveCollections(f, want...)
	}},
	{"collections survive reopening", func(f *fixture) {
		mustRegister(f, "notes", 2)
		f.append(store.Key{Collection: "tasks", ID: "a"}, "1")
		f.reopen()
		mustHaveCollections(f, store.Collection{Name: "notes", Version: 2}, store.Collection{Name: "tasks"})
		if err := f.b.Register(background, "notes", 1); !errors.Is(err, store.ErrVersion) {
			f.Errorf("registering another version: %v", err)
		}
	}},
}

func mustRegister(f *fixture, name string, version int) {
	f.Helper()
	if err := f.b.Register(background, name, version); err != nil {
		f.Fatalf("Register %s at version %d: %v", name, version, err)
	}
}

func mustHaveCollections(f *fixture, want ...store.Collection) {
	f.Helper()
	got, err := f.b.Collections(background)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		f.Fatalf("collections are %v, %v, want %v", got, err, want)
	}
}
