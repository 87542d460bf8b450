package materializer_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// aquadoggo #418, #457: a document that waits for another one does not spin. It
// tries again after as long as it says, signals or not, and after a bounded
// number of attempts it is parked, and says for what it waited.
func TestAquadoggo418_DocumentWaitingForAnotherDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready, runs := false, 0
		s := specOf(func(s text, op operation) (text, error) {
			if op.Document != "waits" || ready {
				return plain(s, op)
			}
			runs++
			return s, materializer.RetryAfter(time.Minute, errors.New("waits for the other"))
		})
		s.Retry.Attempts = 5
		r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
		r.append("waits", "x")
		for range 100 {
			r.append("waits", "y")
			time.Sleep(time.Second)
		}
		settle()
		if runs != 2 {
			t.Errorf("%d runs in 100 seconds, want one a minute", runs)
		}
		if x, err := r.texts.Explain(t.Context(), "waits"); err != nil || x.State != materializer.StateDelayed || !strings.Contains(x.String(), "waits for the other") {
			t.Errorf("%s, %v, want it to say for what it waits", x, err)
		}
		time.Sleep(time.Hour)
		settle()
		r.wantParked("waits", 1, 5, "waits for the other")
		ready = true
		if _, err := r.texts.Resume(t.Context(), "waits"); err != nil {
			t.Fatal(err)
		}
		settle()
		r.wantClean()
	})
}

// W15: what is stored under a name that nobody knows is told, and not dropped in
// silence; what failed and why is told; there are metrics.
func TestW15_WhatHappensCanBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		if _, err := r.st.Append(t.Context(), []store.Append{{
			Key: store.Key{Collection: "typo", ID: "a"}, Entries: []store.Entry{{}},
		}}); err != nil {
			t.Fatal(err)
		}
		r.append("bad", "!permanent")
		r.append("fine", "x")
		settle()
		h, err := r.m.Health(t.Context())
		if err != nil || h.Unregistered != 1 || h.Parked != 1 || h.Dirty != 0 {
			t.Errorf("health %+v, %v, want 1 unregistered, 1 parked", h, err)
		}
		if x, err := r.texts.Explain(t.Context(), "bad"); err != nil || x.State != materializer.StateParked || x.Error == "" {
			t.Errorf("%s, %v, want it parked, with the error", x, err)
		}
		if s, h := r.m.Stats(), r.m.Histograms(); s.Runs != 2 || s.Failed != 1 || s.Parked != 1 || h.Run.Count != 2 {
			t.Errorf("stats %+v, %d runs in the histogram", s, h.Run.Count)
		}
	})
}

// F10: late data is never accepted and ignored, in whatever state its document
// is, and what is served never goes backwards.
func TestF10_LateOperationIsFoldedInEveryState(t *testing.T) {
	for _, state := range []materializer.State{
		materializer.StateIdle, materializer.StateQueued, materializer.StateRunning, materializer.StateRequeue,
		materializer.StateDelayed, materializer.StateCooling, materializer.StateParked, materializer.StatePaused,
	} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, mended := newHold(), new(atomic.Bool)
				s := specOf(func(s text, op operation) (text, error) {
					if mended.Load() {
						return plain(s, op)
					}
					return h.fold(s, op)
				})
				if state == materializer.StateCooling {
					s.MinInterval = time.Minute
				}
				r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Batch: 1}, s).start()
				settle() // or what is appended now is both read and heard of
				r.append("a", "x")
				settle()
				switch state {
				case materializer.StateQueued:
					r.append("other", "hold")
					<-h.reached
					r.append("a", "y")
				case materializer.StateRunning, materializer.StateRequeue:
					r.append("a", "hold")
					<-h.reached
					if state == materializer.StateRequeue {
						r.append("a", "y")
					}
				case materializer.StateDelayed:
					r.append("a", "!fail")
				case materializer.StateParked:
					r.append("a", "!permanent")
				case materializer.StatePaused:
					if err := r.texts.Pause(t.Context()); err != nil {
						t.Fatal(err)
					}
					r.append("a", "y")
				}
				settle()
				before, err := r.texts.Explain(t.Context(), "a")
				if err != nil || before.State != state {
					t.Fatalf("it is %s, %v, want %s", before.State, err, state)
				}
				token := r.append("a", "late")
				if doc := r.load("a"); doc.Applied < before.Applied {
					t.Errorf("applied went from %d to %d", before.Applied, doc.Applied)
				}
				mended.Store(true)
				close(h.goOn)
				r.texts.Resume(t.Context(), "a")
				r.texts.Unpause(t.Context())
				v, err := r.texts.Get(within(t, time.Hour), "a", materializer.AtLeast(token))
				if err != nil || !strings.HasSuffix(v.State.String(), "late") || v.Applied < before.Applied {
					t.Errorf("got %+v, %v, want the late word", v, err)
				}
			})
		})
	}
}

// F22: what always fails is not retried for ever. Commanded #604 and ecto #16: and
// it stops nobody. KurrentDB #3692: and it is one record, however often it failed.
func TestF22_Commanded604_KurrentDB3692_AlwaysFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			if strings.HasPrefix(op.Body.Text, "!") {
				runs++
			}
			return fold(s, op)
		})).start()
		r.append("bad", "x", "!fail", "y")
		for i := range 100 {
			r.append(fmt.Sprint("d", i), "x")
			r.append("bad", "z")
			time.Sleep(time.Minute)
		}
		settle()
		if runs != 10 {
			t.Errorf("%d runs, want 10 attempts", runs)
		}
		r.wantClean()
		n := 0
		for p, err := range r.texts.Parked(t.Context()) {
			if n++; err != nil || p.ID != "bad" || p.Seq != 2 || p.Attempts != 10 || p.Applied != 1 || p.Head != 103 {
				t.Errorf("parked: %+v, %v", p, err)
			}
		}
		if n != 1 {
			t.Errorf("%d records, want one", n)
		}
		if v, err := r.texts.Get(t.Context(), "bad"); err != nil || v.State.String() != "x" || !v.Parked {
			t.Errorf("got %+v, %v, want the last good view", v, err)
		}
	})
}

// Marten #4721: on no way out of a run is anything left behind that the next ones
// need. With a budget that has room for one run, each way is taken often.
func TestMarten4721_NoWayOutOfARunKeepsTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		s := specOf(foldDeleting)
		s.Retry = materializer.Retry{Attempts: 2, First: time.Millisecond}
		r := newDeleting(t, st, materializer.Config{Workers: 2, Bytes: 20}, s).start()
		var calls atomic.Int64
		points := []string{atLoad, loaded, atOperations, operations, atCommit, committed}
		st.onPoint(func(point string) error {
			if n := int(calls.Add(1)); n%7 == 0 && point == points[n/7%len(points)] {
				return store.ErrFull
			}
			return nil
		})
		for i := range 300 {
			word := []string{"x", "!fail", "!panic", "!goexit", "!permanent", "delete"}[i%6]
			r.appendUnannounced(fmt.Sprint("d", i), "x", word, "y", strings.Repeat("z", i))
		}
		time.Sleep(time.Hour)
		settle()
		st.onPoint(nil)
		r.wantClean()
		for i := range 300 {
			id := fmt.Sprint("d", i)
			if _, err := r.texts.Resume(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		settle()
		token := r.append("last", strings.Repeat("z", 1000))
		if _, err := r.texts.Get(within(t, time.Minute), "last", materializer.AtLeast(token)); err != nil {
			t.Error(err)
		}
	})
}

// KurrentDB #899 and its kin, Propulsion #257: something that does not go on shows
// in a number that grows, and who waits is told when its time is up.
func TestKurrentDB899_Propulsion257_NothingStopsQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Grace: -1}, specOf(h.fold)).start()
		token := r.append("a", "hold")
		<-h.reached
		for i := range 3 {
			time.Sleep(time.Hour)
			got, err := r.m.Health(t.Context())
			if err != nil || got.Age != time.Duration(i+1)*time.Hour || got.Oldest != key("a") {
				t.Errorf("age %v of %s, %v, want %d hours of a", got.Age, got.Oldest, err, i+1)
			}
		}
		_, err := r.texts.Get(within(t, time.Minute), "a", materializer.AtLeast(token))
		wantErr(t, err, errTooLong)
		close(h.goOn)
		settle()
	})
}

// Axon #3519: after a time limit the healthy operations before it are kept, and
// those behind it are folded by the next runs. Only a fold's own failure parks.
func TestAxon3519_TimeLimitKeepsWhatIsHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := specOf(func(s text, op operation) (text, error) {
			time.Sleep(time.Second)
			return plain(s, op)
		})
		s.TimeLimit = 10 * time.Second
		r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
		r.append("a", numbered("w", 100)...)
		time.Sleep(time.Hour)
		settle()
		r.wantClean()
		if doc := r.load("a"); doc.Applied != 100 || doc.Failure != nil {
			t.Errorf("applied %d, failure %+v, want 100 and none", doc.Applied, doc.Failure)
		}
	})
}

// Marten #5457, #1869: nothing is kept for each document or run. goleak looks for
// goroutines at the end of all tests; this looks while Run goes on.
func TestMarten5457_NothingIsKeptPerRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2}, spec()).start()
		r.append("a", "x")
		settle()
		before := runtime.NumGoroutine()
		for i := range 500 {
			token := r.append(fmt.Sprint("d", i), "x")
			if _, err := r.texts.Get(t.Context(), fmt.Sprint("d", i), materializer.AtLeast(token)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		settle()
		if after := runtime.NumGoroutine(); after > before+5 {
			t.Errorf("%d goroutines, %d before", after, before)
		}
		if got := r.m.Stats(); got.Queued+got.Running+got.Delayed+got.Cooling != 0 {
			t.Errorf("%+v, want an empty table", got)
		}
	})
}

// Marten #1862, #4066: with nothing to do, an hour costs the store two looks at
// the runnable documents and one reading of them each half a minute, and nothing
// else.
func TestMarten1862_IdleIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec()).start()
		r.append("a", "x")
		settle()
		before := len(st.passed())
		time.Sleep(time.Hour)
		settle()
		if after := len(st.passed()); after != before {
			t.Errorf("%d calls in an idle hour, want none but the looks", after-before)
		}
	})
}
