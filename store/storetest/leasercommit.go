package storetest

import (
	"time"

	"github.com/refold-go/refold/store"
)

var leaserCommitChecks = []check{
	{"a lease that has run out is still its holder's", func(f *fixture) {
		f.append(key("a"), "1", "2")
		epoch := f.lease("h", shortTerms, false, key("a"))[0].Epoch
		f.untilLeft(key("a"))
		f.lengthen("h", true, store.Held{Key: key("a"), Epoch: epoch})
		if l := f.load(key("a")).Lease; l.LeftBehind() {
			f.Errorf("lengthened: %+v", l)
		}
		epoch = f.lease("h", shortTerms, false, key("a"))[0].Epoch
		f.untilLeft(key("a"))
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Epoch: epoch, Applied: 1, View: viewOf(1)})
	}},
	{"it lasts for no longer than the terms say", func(f *fixture) {
		f.append(key("a"), "1", "2")
		terms := store.LeaseTerms{For: time.Minute, Most: time.Minute}
		epoch := f.lease("h", terms, false, key("a"))[0].Epoch
		left := f.load(key("a")).Lease.Left
		for range 3 {
			if had := f.mustLengthen("h", terms, store.Held{Key: key("a"), Epoch: epoch}); !had[0] {
				f.Fatalf("the lease is not its holder's")
			}
			if now := f.load(key("a")).Lease.Left; now > left {
				f.Errorf("lengthened from %s to %s", left, now)
			}
		}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Epoch: epoch, Applied: 1, View: viewOf(1), Keep: &terms})
		if l := f.load(key("a")).Lease; l.Holder != "h" || l.Left > left {
			f.Errorf("kept: %+v, and %s were left before", l, left)
		}
	}},
	{"a commit gives the lease up unless it keeps it", func(f *fixture) {
		f.append(key("a"), "1", "2", "3")
		epoch := f.mustLease("h", key("a"))
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Epoch: epoch, Applied: 1, View: viewOf(1), Keep: &longTerms})
		if l := f.load(key("a")).Lease; l.Holder != "h" || l.Left <= 0 {
			f.Errorf("kept: %+v", l)
		}
		if got := f.lease("other", longTerms, true, key("a"))[0]; got.Why != store.Elsewhere {
			f.Errorf("kept, and another one got %+v", got)
		}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Epoch: epoch, Loaded: 1, Applied: 2, View: viewOf(2)})
		if l := f.load(key("a")).Lease; l != (store.Lease{}) {
			f.Errorf("given up: %+v", l)
		}
		epoch = f.mustLease("other", key("a"))
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Epoch: epoch, Loaded: 2, Applied: 3, View: viewOf(3), Keep: &longTerms})
		if l := f.load(key("a")).Lease; l != (store.Lease{}) {
			f.Errorf("clean: %+v", l)
		}
	}},
	{"a commit does not make a lease", func(f *fixture) {
		f.append(key("a"), "1", "2")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Epoch: f.load(key("a")).Epoch, Applied: 1, View: viewOf(1), Keep: &longTerms})
		if l := f.load(key("a")).Lease; l != (store.Lease{}) {
			f.Errorf("lease is %+v", l)
		}
	}},
	{"a stale commit leaves the lease alone", func(f *fixture) {
		f.append(key("a"), "1")
		epoch := f.mustLease("h", key("a"))
		for _, c := range []store.Commit{{Epoch: epoch - 1}, {Epoch: epoch, Loaded: 1}} {
			c.Key, c.Applied, c.View = key("a"), 1, viewOf(1)
			f.mustCommit(store.Stale, c)
		}
		if l := f.load(key("a")).Lease; l.Holder != "h" {
			f.Errorf("lease is %+v", l)
		}
	}},
	{"parking gives it up, and resuming makes none", func(f *fixture) {
		f.append(key("a"), "1")
		epoch := f.mustLease("h", key("a"))
		f.mustCommit(store.StillDirty, store.Commit{
			Key: key("a"), Epoch: epoch, Keep: &longTerms, Failure: &store.Failure{Seq: 1, Attempts: 1, Error: "e", Park: true},
		})
		parked := f.load(key("a"))
		if _, err := f.b.Resume(background, []store.Key{key("a")}); err != nil {
			f.Fatal(err)
		}
		if l := f.load(key("a")).Lease; parked.Lease != (store.Lease{}) || l != (store.Lease{}) {
			f.Errorf("parked: %+v, resumed: %+v", parked.Lease, l)
		}
		f.mustLease("other", key("a"))
	}},
	{"a discard takes it away", func(f *fixture) {
		f.append(key("a"), "1", "2")
		epoch := f.mustLease("h", key("a"))
		f.discard(key("a"), 1)
		f.release("h", false, store.Held{Key: key("a"), Epoch: epoch})
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Epoch: epoch, Applied: 2, View: viewOf(2)})
		if d := f.load(key("a")); d.Lease != (store.Lease{}) || d.Epoch <= epoch {
			f.Errorf("document is %+v", d)
		}
	}},
	{"F20_ForgottenUnderALease", func(f *fixture) {
		f.append(key("a"), "1")
		epoch := f.mustLease("h", key("a"))
		f.forget(key("a"))
		held := store.Held{Key: key("a"), Epoch: epoch}
		f.lengthen("h", false, held)
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Epoch: epoch, Applied: 1, View: viewOf(1)})
		f.release("h", false, held)
		if d := f.load(key("a")); d.Head != 0 {
			f.Errorf("it is back: %+v", d)
		}
	}},
	{"appending does not touch it", func(f *fixture) {
		f.append(key("a"), "1")
		epoch := f.mustLease("h", key("a"))
		f.append(key("a"), "2")
		if d := f.load(key("a")); d.Lease.Holder != "h" || d.Epoch != epoch {
			f.Errorf("document is %+v", d)
		}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Epoch: epoch, Applied: 1, View: viewOf(1)})
	}},
	{"a lease goes by the names of generations", func(f *fixture) {
		f.register("notes", 3)
		f.append(key("a"), "1")
		versioned := store.Key{Collection: "notes@3", ID: "a"}
		epoch := f.mustLease("h", versioned)
		if d := f.load(key("a")); d.Lease.Holder != "h" || d.Epoch != epoch {
			f.Errorf("document is %+v", d)
		}
		f.release("h", true, store.Held{Key: key("a"), Epoch: epoch})
		if got := f.lease("h", longTerms, false, store.Key{Collection: "notes@4", ID: "a"})[0]; got.Why != store.NotRunnable {
			f.Errorf("of a version that is not there: %+v", got)
		}
	}},
	{"what is no lease is refused", func(f *fixture) {
		f.append(key("a"), "1")
		for name, call := range map[string]func() error{
			"twice":     func() error { return f.leaseError("h", longTerms, key("a"), key("a")) },
			"no holder": func() error { return f.leaseError("", longTerms, key("a")) },
			"no terms":  func() error { return f.leaseError("h", store.LeaseTerms{}, key("a")) },
			"too long":  func() error { return f.leaseError("h", store.LeaseTerms{For: time.Hour, Most: time.Hour}, key("a")) },
			"most is for": func() error {
				return f.leaseError("h", store.LeaseTerms{For: time.Minute, Most: time.Second}, key("a"))
			},
			"no id":   func() error { return f.leaseError("h", longTerms, key("")) },
			"no name": func() error { return f.leaseError("h", longTerms, store.Key{Collection: "No", ID: "a"}) },
			"held twice": func() error {
				_, err := f.b.Release(background, "h", []store.Held{{Key: key("a"), Epoch: 1}, {Key: key("a"), Epoch: 2}})
				return err
			},
			"no terms to lengthen by": func() error {
				_, err := f.b.Lengthen(background, "h", store.LeaseTerms{}, []store.Held{{Key: key("a"), Epoch: 1}})
				return err
			},
			"no terms to keep by": func() error {
				_, err := f.b.Commit(background, []store.Commit{{Key: key("a"), Keep: &store.LeaseTerms{}}})
				return err
			},
		} {
			if err := f.unchangedBy(store.ErrInvalid, call); err == nil {
				f.Errorf("%s was taken", name)
			}
		}
	}},
}
