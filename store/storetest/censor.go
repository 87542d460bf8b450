package storetest

import (
	"time"

	"github.com/refold-go/refold/store"
)

var censorChecks = []check{
	{"documents are counted by state", func(f *fixture) {
		for _, id := range []string{"clean", "parked late", "dirty", "behind", "waiting", "waited", "parked"} {
			f.append(key(id), "1", "2")
		}
		f.append(store.Key{Collection: "tasks", ID: "a"}, "1")
		f.fold(key("clean"), 2)
		f.fold(key("behind"), 1)
		f.fold(key("parked late"), 1)
		f.fold(key("dirty"), 1)
		f.park(key("parked late"))
		f.park(key("parked"))
		fail := func(id string, delay time.Duration) {
			f.mustCommit(store.StillDirty, store.Commit{Key: key(id), Failure: &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: delay}})
		}
		fail("waiting", time.Hour)
		fail("waited", 0)
		n := mustCount(f, "notes")
		if n.Dirty != 4 || n.Waiting != 1 || n.Parked != 2 {
			f.Errorf("counts are %+v", n)
		}
		if n.Oldest.Key != key("dirty") || n.Oldest.Since != f.load(key("dirty")).Since || n.Oldest.Wait != 0 {
			f.Errorf("the oldest is %+v", n.Oldest)
		}
		if n.OldestParked.Key != key("parked late") || n.OldestParked.Since != f.load(key("parked late")).Since {
			f.Errorf("the oldest parked one is %+v", n.OldestParked)
		}
	}},
	{"the oldest is the one that lacks the oldest operation", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.fold(key("a"), 1)
		f.append(key("a"), "2")
		if n := mustCount(f, "notes"); n.Oldest.Key != key("b") || n.Oldest.Since.Position != 2 {
			f.Errorf("counts are %+v", n)
		}
		failure := &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: time.Hour}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("b"), Failure: failure})
		n := mustCount(f, "notes")
		if n.Oldest.Key != key("b") || n.Oldest.Wait > time.Hour || n.Oldest.Wait < 59*time.Minute || n.Waiting != 1 {
			f.Errorf("with the oldest waiting, counts are %+v", n)
		}
		f.fold(key("b"), 1)
		if n := mustCount(f, "notes"); n.Oldest.Key != key("a") || n.Oldest.Since.Position != 3 || n.Waiting != 0 {
			f.Errorf("counts are %+v", n)
		}
	}},
	{"a wait that is over is no wait", func(f *fixture) {
		f.append(key("a"), "1")
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Failure: &store.Failure{Seq: 1, Attempts: 1, Delay: 20 * time.Millisecond}})
		for deadline := time.Now().Add(patience); mustCount(f, "notes").Waiting > 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				f.Fatalf("it still waits")
			}
		}
		if n := mustCount(f, "notes"); n.Dirty != 1 || n.Oldest.Wait != 0 {
			f.Errorf("counts are %+v", n)
		}
	}},
	{"what has nothing has zero counts", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.append(store.Key{Collection: "tasks", ID: "a"}, "1")
		for _, name := range []string{"notes", "unknown"} {
			if n := mustCount(f, name); n != (store.Counts{}) {
				f.Errorf("counts of %s are %+v", name, n)
			}
		}
	}},
	{"a paused collection is counted", func(f *fixture) {
		f.append(key("a"), "1")
		f.pause("notes", true)
		if n := mustCount(f, "notes"); n.Dirty != 1 || n.Oldest.Key != key("a") {
			f.Errorf("counts are %+v", n)
		}
	}},
	{"many are counted", func(f *fixture) {
		n := small(300, 2000)
		appendMany(f, n)
		for i := range n / 10 {
			f.park(key(number(i)))
		}
		got := mustCount(f, "notes")
		if got.Parked != int64(n/10) || got.Dirty != int64(n-n/10) || got.Waiting != 0 {
			f.Errorf("counts are %+v", got)
		}
		mustResume(f, 1, key(number(0)))
		if after := mustCount(f, "notes"); after.Parked != got.Parked-1 || after.Dirty != got.Dirty+1 {
			f.Errorf("counts are %+v", after)
		}
	}},
}

func mustCount(f *fixture, collection string) store.Counts {
	f.Helper()
	n, err := f.b.Count(background, collection)
	if err != nil {
		f.Fatalf("Count: %v", err)
	}
	return n
}
