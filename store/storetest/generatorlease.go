package storetest

import (
	"time"

	"github.com/refold-go/refold/store"
)

// generationLeaseChecks are those of leases while several generations live.
var generationLeaseChecks = []check{
	{"a lease is of a document in one generation", func(f *fixture) {
		two(f, "a")
		f.append(key("a"), "4")
		served, beside := key("a"), versioned("notes@2", "a")
		first, second := f.mustLease("h", served), f.mustLease("i", beside)
		if first == second {
			f.Errorf("both were leased with epoch %d", first)
		}
		f.release("i", false, store.Held{Key: served, Epoch: second})
		f.lengthen("i", true, store.Held{Key: beside, Epoch: second})
		f.lengthen("h", true, store.Held{Key: versioned("notes@1", "a"), Epoch: first})
		f.mustCommit(store.Stale, store.Commit{Key: served, Loaded: 3, Epoch: second, Applied: 4, View: []byte("late")})
		f.mustCommit(store.Done, store.Commit{Key: beside, Loaded: 3, Epoch: second, Applied: 4, View: []byte("in time")})
		if d, e := f.load(served), f.load(beside); d.Lease.Holder != "h" || e.Lease.Holder != "" {
			f.Errorf("after the commit %q has what is served, and %q the other one", d.Lease.Holder, e.Lease.Holder)
		}
	}},
	{"a discard takes the leases of all generations away", func(f *fixture) {
		two(f, "behind", "ahead")
		for _, id := range []string{"behind", "ahead"} {
			f.append(key(id), "4")
		}
		d := f.load(versioned("notes@2", "ahead"))
		f.mustCommit(store.Done, store.Commit{Key: d.Key, Loaded: 3, Epoch: d.Epoch, Applied: 4, View: []byte("4")})
		f.append(key("ahead"), "5")
		for _, id := range []string{"behind", "ahead"} {
			keys := []store.Key{key(id), versioned("notes@2", id)}
			held := []store.Held{{Key: keys[0], Epoch: f.mustLease("h", keys[0])}, {Key: keys[1], Epoch: f.mustLease("i", keys[1])}}
			if err := f.b.Discard(background, discardOf(key(id), 4)); err != nil {
				f.Fatalf("Discard: %v", err)
			}
			for i, k := range keys {
				if now := f.load(k); now.Lease.Holder != "" || now.Epoch <= held[i].Epoch {
					f.Errorf("after the discard %q has %s under epoch %d", now.Lease.Holder, k, now.Epoch)
				}
				f.lengthen([]string{"h", "i"}[i], false, held[i])
			}
		}
	}},
	{"what is held or paused is not leased", func(f *fixture) {
		two(f, "a", "b")
		f.append(key("a"), "4")
		f.append(key("b"), "4")
		epoch := f.mustLease("h", key("b"))
		mine := time.Time{}
		hold := func(d time.Duration) { mine = f.hold("notes", mine, d) }
		mustBe := func(name string, want store.NotLeased) {
			if got := f.lease("h", longTerms, true, versioned(name, "a"))[0]; got.Why != want {
				f.Errorf("the lease of %s is %s, want %s", name, got.Why, want)
			}
		}
		hold(store.MaxHold)
		mustBe("notes", store.NotRunnable)
		mustBe("notes@1", store.NotRunnable)
		mustBe("notes@2", store.Taken)
		f.lengthen("h", true, store.Held{Key: key("b"), Epoch: epoch})
		f.mustCommit(store.Done, store.Commit{Key: key("b"), Loaded: 3, Epoch: epoch, Applied: 4, View: []byte("in hand")})
		hold(0)
		mustBe("notes", store.Taken)
		if err := f.b.Pause(background, "notes", true); err != nil {
			f.Fatalf("Pause: %v", err)
		}
		for _, name := range []string{"notes", "notes@1", "notes@2"} {
			mustBe(name, store.NotRunnable)
		}
	}},
	{"a switch leaves leases with their documents", func(f *fixture) {
		two(f, "a")
		f.append(key("a"), "4")
		f.foldAll("notes@2")
		epoch := f.mustLease("h", key("a"))
		f.switchTo("notes@2", false, store.Unhindered)
		f.lengthen("h", false, store.Held{Key: key("a"), Epoch: epoch})
		f.mustCommit(store.Stale, store.Commit{Key: key("a"), Loaded: 3, Epoch: epoch, Applied: 4, View: []byte("late")})
		f.lengthen("h", true, store.Held{Key: versioned("notes@1", "a"), Epoch: epoch})
		f.rollback()
		f.mustCommit(store.Done, store.Commit{Key: key("a"), Loaded: 3, Epoch: epoch, Applied: 4, View: []byte("in time")})
	}},
}
