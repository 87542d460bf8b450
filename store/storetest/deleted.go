package storetest

import "github.com/refold-go/refold/store"

var deletedChecks = []check{
	{"a deleted document has no view", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.fold(key("a"), 1)
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Loaded: 1, Applied: 2, View: []byte("ignored"), Deleted: true})
		d := f.load(key("a"))
		if !d.Deleted || d.View != nil || d.Applied != 2 || d.Dirty() || d.Failure != nil {
			f.Errorf("document is %+v", d)
		}
		f.mustRun()
	}},
	{"the first view may be none", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, Deleted: true})
		if d := f.load(key("a")); !d.Deleted || d.View != nil || d.Applied != 1 || !d.Dirty() {
			f.Errorf("document is %+v", d)
		}
	}},
	{"the next view brings it back", func(f *fixture) {
		f.append(key("a"), "1")
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Applied: 1, Deleted: true})
		f.append(key("a"), "2", "3")
		if d := f.load(key("a")); !d.Deleted || !d.Dirty() {
			f.Errorf("document is %+v", d)
		}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Loaded: 1, Applied: 2, View: []byte{}})
		if d := f.load(key("a")); d.Deleted || d.View == nil {
			f.Errorf("document is %+v", d)
		}
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Loaded: 2, Applied: 3, Deleted: true})
		if d := f.load(key("a")); !d.Deleted || d.View != nil {
			f.Errorf("document is %+v", d)
		}
	}},
	{"it is ignored if nothing is applied", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1", "2")
		f.fold(key("a"), 1)
		f.mustCommit(store.StillDirty, store.Commit{Key: key("b"), Applied: 1, Deleted: true})
		before := contents(f.T, f.b)
		for _, id := range []string{"a", "b"} {
			for _, deleted := range []bool{true, false} {
				f.mustCommit(store.StillDirty, store.Commit{Key: key(id), Loaded: 1, Applied: 1, Deleted: deleted, View: []byte("x")})
			}
		}
		f.mustContain(before)
		f.park(key("b"))
		if d := f.load(key("b")); !d.Deleted || !d.Parked() {
			f.Errorf("document is %+v", d)
		}
	}},
	{"a stale commit deletes nothing", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.fold(key("a"), 1)
		before := contents(f.T, f.b)
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Applied: 2, Deleted: true})
		f.mustContain(before)
	}},
	{"it is scanned and listed as any other", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.append(key("b"), "1")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, Deleted: true})
		f.park(key("a"))
		mustScan(f, "notes", "", "a", "b")
		parked := collect(f.T, f.b.Parked(background, "notes"))
		if len(parked) != 1 || !parked[0].Deleted {
			f.Errorf("parked are %+v", parked)
		}
		for _, parts := range []store.Parts{store.WithViews, store.WithoutViews} {
			for _, d := range collect(f.T, f.b.Scan(background, "notes", "", parts)) {
				if d.Deleted != (d.Key.ID == "a") || d.View != nil {
					f.Errorf("scan returned %+v", d)
				}
			}
		}
	}},
	{"it survives reopening", func(f *fixture) {
		f.append(key("a"), "1")
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Applied: 1, Deleted: true})
		before := contents(f.T, f.b)
		f.reopen()
		f.mustContain(before)
	}},
}
