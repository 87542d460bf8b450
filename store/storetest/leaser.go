package storetest

import (
	"fmt"
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
}
