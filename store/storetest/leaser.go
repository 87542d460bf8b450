package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/store"
)

// longTerms are those of a lease that does not run out during a check, shortTerms
// those of one that does.
var (
	longTerms  = store.LeaseTerms{For: time.Minute, Most: 5 * time.Minute}
	shortTerms = store.LeaseTerms{For: time.Millisecond, Most: store.MaxLease}
)

var leaserChecks = []check{
	{"one of many takes a document", func(f *fixture) {
		f.append(key("a"), "1")
		var taken atomic.Int64
		var group sync.WaitGroup
		for n := range 16 {
			group.Go(func() {
				if f.lease(fmt.Sprint("h", n), longTerms, false, key("a"))[0].Epoch > 0 {
					taken.Add(1)
				}
			})
		}
		group.Wait()
		if n := taken.Load(); n != 1 {
			f.Errorf("%d of 16 have the lease", n)
		}
	}},
	{"the lease of another is told", func(f *fixture) {
		f.append(key("a"), "1")
		f.mustLease("h", key("a"))
		for _, l := range []store.Lease{f.load(key("a")).Lease, f.runnable()[0].Lease, f.lease("other", longTerms, true, key("a"))[0].Lease} {
			if l.Holder != "h" || l.Left <= 0 || l.Left > longTerms.For || l.Age < 0 || l.Age+l.Left > longTerms.For+time.Second {
				f.Errorf("lease is %+v", l)
			}
		}
		if got := f.lease("other", longTerms, true, key("a"))[0]; got.Why != store.Elsewhere || got.Epoch != 0 {
			f.Errorf("another one got %+v", got)
		}
		f.mustRun("a")
	}},
	{"each is taken or not by itself", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.append(key("c"), "1")
		f.mustLease("h", key("b"))
		got := f.lease("other", longTerms, false, key("c"), key("b"), key("none"), key("a"))
		want := []store.NotLeased{store.Taken, store.Elsewhere, store.NotRunnable, store.Taken}
		for i, g := range got {
			if g.Why != want[i] || (g.Epoch > 0) != (g.Why == store.Taken) {
				f.Errorf("%d: %+v, want %s", i, g, want[i])
			}
		}
		if got[0].Epoch != f.load(key("c")).Epoch || got[0].Epoch != got[3].Epoch {
			f.Errorf("epochs are %d and %d, that of the document is %d", got[0].Epoch, got[3].Epoch, f.load(key("c")).Epoch)
		}
	}},
	{"what is not runnable is not leased", func(f *fixture) {
		f.append(key("clean"), "1")
		f.fold(key("clean"), 1)
		f.append(key("parked"), "1")
		f.park(key("parked"))
		f.append(key("forgotten"), "1")
		f.forget(key("forgotten"))
		f.append(key("waiting"), "1")
		f.mustCommit(store.StillDirty, store.Commit{
			Key: key("waiting"), Epoch: f.load(key("waiting")).Epoch, Failure: &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: time.Hour},
		})
		got := f.lease("h", longTerms, true, key("clean"), key("parked"), key("forgotten"), key("waiting"))
		for i := range got[:3] {
			if got[i].Why != store.NotRunnable || got[i].Epoch != 0 {
				f.Errorf("%d: %+v", i, got[i])
			}
		}
		if w := got[3]; w.Why != store.Waiting || w.Epoch != 0 || w.Wait <= 0 || w.Wait > time.Hour {
			f.Errorf("waiting: %+v", w)
		}
		f.append(key("paused"), "1")
		f.pause("notes", true)
		if got := f.lease("h", longTerms, true, key("paused"))[0]; got.Why != store.NotRunnable {
			f.Errorf("paused: %+v", got)
		}
		f.pause("notes", false)
		f.mustLease("h", key("paused"))
	}},
	{"epochs grow and never repeat", func(f *fixture) {
		f.append(key("a"), "1")
		last := f.load(key("a")).Epoch
		for i := range 20 {
			if f.Reopen != nil && i%5 == 4 {
				f.reopen()
			}
			epoch := f.mustLease("h", key("a"))
			if epoch <= last {
				f.Errorf("epoch %d after %d", epoch, last)
			}
			last = epoch
			f.release("h", true, store.Held{Key: key("a"), Epoch: epoch})
		}
	}},
	{"a lease taken again makes the earlier one void", func(f *fixture) {
		f.append(key("a"), "1")
		first := f.mustLease("h", key("a"))
		second := f.mustLease("h", key("a"))
		f.release("h", false, store.Held{Key: key("a"), Epoch: first})
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Epoch: first, Applied: 1, View: viewOf(1)})
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Epoch: second, Applied: 1, View: viewOf(1)})
	}},
	{"what was left behind is taken over if that is asked for", func(f *fixture) {
		f.append(key("a"), "1")
		old := f.lease("dead", shortTerms, false, key("a"))[0].Epoch
		f.untilLeft(key("a"))
		if got := f.lease("h", longTerms, false, key("a"))[0]; got.Why != store.LeftBehind || got.Epoch != 0 || got.Lease.Holder != "dead" {
			f.Errorf("not asked for: %+v", got)
		}
		got := f.lease("h", longTerms, true, key("a"))[0]
		if got.Why != store.Taken || got.Epoch <= old || got.Lease.Holder != "dead" {
			f.Errorf("asked for: %+v", got)
		}
		// Its old holder comes to life, and does not get through with anything.
		stale := store.Held{Key: key("a"), Epoch: old}
		f.release("dead", false, stale)
		f.lengthen("dead", false, stale)
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Epoch: old, Applied: 1, View: viewOf(1)})
		if l := f.load(key("a")).Lease; l.Holder != "h" || l.Left <= shortTerms.For {
			f.Errorf("lease is %+v", l)
		}
	}},
	{"a holder under another name has nothing", func(f *fixture) {
		f.append(key("a"), "1")
		held := store.Held{Key: key("a"), Epoch: f.mustLease("h", key("a"))}
		f.release("other", false, held)
		f.lengthen("other", false, held)
		f.release("h", false, store.Held{Key: key("none"), Epoch: held.Epoch})
		f.release("h", true, held)
		f.release("h", false, held)
		if l := f.load(key("a")).Lease; l != (store.Lease{}) {
			f.Errorf("lease is %+v", l)
		}
	}},
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
	{"sharing and having it for oneself exclude each other", func(f *fixture) {
		alone := mustClaim(f, f.b)
		if _, err := f.b.Share(background); !errors.Is(err, store.ErrClaimed) {
			f.Errorf("Share of a store that is claimed: %v", err)
		}
		mustRelease(f, alone)
		first, second := f.share(f.b), f.share(f.b)
		mustBeClaimed(f, f.b)
		mustRelease(f, first.Release)
		mustBeClaimed(f, f.b)
		mustRelease(f, first.Release) // again, and that of the second one is not given up
		mustBeClaimed(f, f.b)
		mustRelease(f, second.Release)
		mustRelease(f, mustClaim(f, f.b))
	}},
	{"every claim has a holder of its own", func(f *fixture) {
		var holders []string
		for range 3 {
			for _, c := range []store.Claim{f.share(f.b), f.share(f.b)} {
				holders = append(holders, c.Holder)
				defer func() { _ = c.Release() }()
			}
		}
		slices.Sort(holders)
		if holders[0] == "" || len(slices.Compact(slices.Clone(holders))) != 6 {
			f.Errorf("holders are %q", holders)
		}
	}},
	{"the last one that leaves takes the mark away", func(f *fixture) {
		first, second := f.share(f.b), f.share(f.b)
		if first.Unclean || second.Unclean {
			f.Errorf("unclean: %t, %t", first.Unclean, second.Unclean)
		}
		mustRelease(f, first.Release)
		mustRelease(f, second.Release)
		if c := claim(f, f.b); c.Unclean {
			f.Errorf("unclean, although all have left")
		} else {
			mustRelease(f, c.Release)
		}
		f.share(f.b)
		f.append(key("a"), "1")
		f.reopen()
		again := f.share(f.b)
		if !again.Unclean || again.End != 1 {
			f.Errorf("after one that did not leave: %+v", again)
		}
		if joined := f.share(f.b); joined.Unclean {
			f.Errorf("the second one is told too")
		}
	}},
	{"sharing is of what is stored, not of a handle", func(f *fixture) {
		second := f.second()
		one, two := f.share(f.b), f.share(second)
		mustBeClaimed(f, f.b)
		mustRelease(f, one.Release)
		mustBeClaimed(f, f.b)
		mustBeClaimed(f, second)
		f.append(key("a"), "1")
		epoch := f.mustLease(one.Holder, key("a"))
		got, err := second.Lease(background, two.Holder, longTerms, []store.Key{key("a")}, true)
		if err != nil || got[0].Why != store.Elsewhere {
			f.Errorf("the other handle got %+v, %v", got, err)
		}
		f.release(one.Holder, true, store.Held{Key: key("a"), Epoch: epoch})
		if got, err = second.Lease(background, two.Holder, longTerms, []store.Key{key("a")}, false); err != nil || got[0].Epoch <= epoch {
			f.Errorf("the other handle got %+v after epoch %d, %v", got, epoch, err)
		}
		mustRelease(f, two.Release)
	}},
}
