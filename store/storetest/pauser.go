package storetest

import "github.com/refold-go/refold/store"

var pauserChecks = []check{
	{"no document of a paused collection is runnable", func(f *fixture) {
		task := store.Key{Collection: "tasks", ID: "a"}
		f.append(key("a"), "1")
		f.append(task, "1")
		f.pause("notes", true)
		f.mustRun()
		if r := f.runnable("notes", "tasks"); len(r) != 1 || r[0].Key != task {
			f.Errorf("runnable are %+v", r)
		}
		mustHaveCollections(f, store.Collection{Name: "notes", Paused: true}, store.Collection{Name: "tasks"})
		f.pause("notes", false)
		f.mustRun("a")
		mustHaveCollections(f, store.Collection{Name: "notes"}, store.Collection{Name: "tasks"})
	}},
	{"it can be appended to and read", func(f *fixture) {
		f.append(key("a"), "1")
		f.pause("notes", true)
		f.append(key("a"), "2")
		f.append(key("b"), "1")
		f.mustRun()
		if d := f.load(key("a")); d.Head != 2 || !d.Dirty() {
			f.Errorf("document is %+v", d)
		}
		mustScan(f, "notes", "", "a", "b")
		f.pause("notes", false)
		f.mustRun("a", "b")
	}},
	{"a run in hand is stored", func(f *fixture) {
		f.append(key("a"), "1")
		f.pause("notes", true)
		if got := f.fold(key("a"), 1); got != store.Done {
			f.Errorf("commit is %s", got)
		}
	}},
	{"pausing again changes nothing", func(f *fixture) {
		mustRegister(f, "notes", 1)
		for _, paused := range []bool{false, true} {
			f.pause("notes", paused)
			f.unchangedBy(nil, func() error { return f.b.Pause(background, "notes", paused) })
		}
	}},
	{"an unknown collection is not found", func(f *fixture) {
		for _, paused := range []bool{false, true} {
			f.unchangedBy(store.ErrNotFound, func() error { return f.b.Pause(background, "unknown", paused) })
		}
	}},
	{"registering leaves it paused", func(f *fixture) {
		f.append(key("a"), "1")
		f.pause("notes", true)
		mustRegister(f, "notes", 1)
		f.mustRun()
	}},
	{"a pause survives reopening", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.append(key("a"), "1")
		f.pause("notes", true)
		f.reopen()
		f.mustRun()
		mustHaveCollections(f, store.Collection{Name: "notes", Version: 1, Paused: true})
		f.pause("notes", false)
		f.reopen()
		f.mustRun("a")
	}},
}
