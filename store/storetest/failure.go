package storetest

import (
	"errors"
	"math"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

var failureChecks = []check{
	{"a failure is recorded", func(f *fixture) {
		f.append(key("a"), "1", "2", "3")
		want := store.Failure{Seq: 2, Attempts: 3, Error: "broken ü", Stack: "main.fold\n\tfold.go:1"}
		recorded := want
		recorded.Delay = time.Hour
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: []byte("good"), Failure: &recorded})
		d := f.load(key("a"))
		mustHaveFailed(f, d, want)
		if d.Applied != 1 || string(d.View) != "good" || d.Parked() || !d.Dirty() {
			f.Errorf("document is %+v", d)
		}
	}},
	{"the times of the first and the last attempt are kept", func(f *fixture) {
		f.append(key("a"), "1", "2")
		fail := func(seq int64, attempts int) store.Failure {
			f.Helper()
			before := time.Now()
			f.mustCommit(store.StillDirty, store.Commit{
				Key: key("a"), Failure: &store.Failure{Seq: seq, Attempts: attempts, Error: "e", First: time.Unix(1, 0), Last: time.Unix(2, 0)},
			})
			got := *f.load(key("a")).Failure
			if got.Last.Before(before) || got.Last.After(time.Now()) || got.First.After(got.Last) {
				f.Errorf("from %s to %s, the last one is of %s", got.First, got.Last, before)
			}
			time.Sleep(2 * time.Millisecond)
			return got
		}
		first := fail(1, 1)
		if third := fail(1, 3); !third.First.Equal(first.First) || !third.Last.After(first.Last) {
			f.Errorf("first %+v, third %+v", first, third)
		}
		if other := fail(2, 1); !other.First.Equal(other.Last) {
			f.Errorf("at another operation: %+v", other)
		}
		if again := fail(2, 1); !again.First.Equal(again.Last) {
			f.Errorf("with the attempts counted anew: %+v", again)
		}
	}},
	{"a failure is replaced by the next one", func(f *fixture) {
		f.append(key("a"), "1")
		for attempts := range 3 {
			failure := store.Failure{Seq: 1, Attempts: attempts + 1, Error: strings.Repeat("e", attempts)}
			f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Failure: &failure})
			mustHaveFailed(f, f.load(key("a")), failure)
		}
	}},
	{"a run that went well clears it", func(f *fixture) {
		f.append(key("a"), "1", "2")
		failure := &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: time.Hour}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Failure: failure})
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Applied: 1, View: []byte("1")})
		if d := f.load(key("a")); d.Failure != nil {
			f.Errorf("failure is %+v", d.Failure)
		}
		if r := f.runnable(); len(r) != 1 || r[0].Wait != 0 {
			f.Errorf("runnable are %+v", r)
		}
		failure.Seq = 2
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Loaded: 1, Applied: 1, Failure: failure})
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Loaded: 1, Applied: 1})
		if d := f.load(key("a")); d.Failure != nil {
			f.Errorf("failure is %+v", d.Failure)
		}
	}},
	{"a delay is a wait", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		failure := &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: time.Hour}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Failure: failure})
		f.append(key("a"), "an append does not cut it short")
		f.mustRun("a", "b")
		r := f.runnable()
		if r[0].Wait > time.Hour || r[0].Wait < 59*time.Minute || r[1].Wait != 0 {
			f.Errorf("runnable are %+v, want one hour for a", r)
		}
		if left := f.load(key("a")).Failure.Delay; left > time.Hour || left < 59*time.Minute {
			f.Errorf("a was loaded with a delay of %s, want what is left of an hour", left)
		}
		for _, none := range []time.Duration{0, -time.Hour} {
			f.mustCommit(store.StillDirty, store.Commit{Key: key("b"), Failure: &store.Failure{Seq: 1, Attempts: 1, Delay: none}})
			if r := f.runnable(); r[1].Wait != 0 {
				f.Errorf("after a delay of %s, runnable are %+v", none, r)
			}
			if left := f.load(key("b")).Failure.Delay; left != 0 {
				f.Errorf("after a delay of %s, b was loaded with %s", none, left)
			}
		}
	}},
	{"a delay is a day at the most", func(f *fixture) {
		f.append(key("a"), "1")
		for _, delay := range []time.Duration{store.MaxDelay, store.MaxDelay + 1, 1000 * time.Hour, math.MaxInt64} {
			failure := &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: delay}
			f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Failure: failure})
			r, left := f.runnable(), f.load(key("a")).Failure.Delay
			for _, wait := range []time.Duration{r[0].Wait, left} {
				if wait > store.MaxDelay || wait < store.MaxDelay-time.Minute {
					f.Errorf("after a delay of %s, %s is left, want a day", delay, wait)
				}
			}
			if n := mustCount(f, "notes"); n.Waiting != 1 || n.Oldest.Wait > store.MaxDelay {
				f.Errorf("after a delay of %s, counts are %+v", delay, n)
			}
		}
	}},
	{"a wait ends", func(f *fixture) {
		f.append(key("a"), "1")
		failure := &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: 30 * time.Millisecond}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Failure: failure})
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			r := f.runnable()
			if len(r) != 1 || r[0].Wait < 0 || r[0].Wait > failure.Delay {
				f.Fatalf("runnable are %+v", r)
			}
			if r[0].Wait == 0 {
				return
			}
			if time.Now().After(deadline) {
				f.Fatalf("a still has to wait for %s", r[0].Wait)
			}
		}
	}},
	{"long texts are kept to 64 KiB at least", func(f *fixture) {
		f.append(key("a"), "1")
		long := strings.Repeat("0123456789abcdef", store.MaxFailureText/16)
		failure := &store.Failure{Seq: 1, Attempts: 1, Error: long + "more", Stack: long + "more"}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Failure: failure})
		got := f.load(key("a")).Failure
		if got == nil || !strings.HasPrefix(got.Error, long) || !strings.HasPrefix(got.Stack, long) {
			f.Errorf("the texts are shortened below the limit")
		}
	}},
	{"a failure at what is applied is invalid", func(f *fixture) {
		f.append(key("a"), "1", "2")
		_, err := f.b.Commit(f.Context(), []store.Commit{{Key: key("a"), Applied: 1, View: []byte("1"), Failure: &store.Failure{Seq: 1}}})
		if !errors.Is(err, store.ErrInvalid) {
			f.Errorf("Commit: %v, want ErrInvalid", err)
		}
		if d := f.load(key("a")); d.Applied != 0 || d.Failure != nil {
			f.Errorf("document is %+v", d)
		}
	}},
	{"failures survive reopening", func(f *fixture) {
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		failure := &store.Failure{Seq: 1, Attempts: 2, Error: "e", Stack: "s", Delay: time.Hour}
		f.mustCommit(store.StillDirty, store.Commit{Key: key("a"), Failure: failure})
		f.park(key("b"))
		before := contents(f.T, f.b)
		f.reopen()
		f.mustContain(before)
		if r := f.runnable(); len(r) != 1 || r[0].Wait < 59*time.Minute {
			f.Errorf("runnable are %+v, want one hour for a", r)
		}
	}},
}

// mustHaveFailed compares the record of a failure, but for the delay and the times.
func mustHaveFailed(f *fixture, d store.Document, want store.Failure) {
	f.Helper()
	if d.Failure == nil {
		f.Fatalf("%s has no failure, want %+v", d.Key, want)
	}
	got := *d.Failure
	got.Delay, want.Delay = 0, 0
	got.First, got.Last = want.First, want.Last
	if got != want {
		f.Errorf("failure of %s is %+v, want %+v", d.Key, got, want)
	}
}
