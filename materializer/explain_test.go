package materializer_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// Each state that Explain knows but for those that have a test of their own
// beside what makes them: paused, suspect, deleted and forgotten.
func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		s := specOf(h.fold)
		s.Retry = materializer.Retry{Attempts: 2, First: time.Hour}
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2, Batch: 1}, s)
		explain := func(key materializer.Key, want materializer.State) materializer.Explanation {
			t.Helper()
			x, err := r.m.Explain(t.Context(), key)
			if err != nil || x.State != want || x.Key != key {
				t.Errorf("%s is %s, %v, want %s", x.Key, x.State, err, want)
			}
			return x
		}
		start := time.Now()
		r.append("a", "x", "y")
		x := explain(key("a"), materializer.StateIdle)
		if x.Running || x.Head != 2 || x.Applied != 0 || !x.Since.Equal(start) || x.Position != 1 || x.LastRun != nil {
			t.Errorf("before Run: %+v", x)
		}
		if s := x.String(); !strings.Contains(s, "0 of 2") || !strings.Contains(s, "makes no views") {
			t.Errorf("it says %q", s)
		}
		r.start()
		settle()
		x = explain(key("a"), materializer.StateIdle)
		if !x.Running || !x.Since.IsZero() || x.LastRun == nil || x.LastRun.Operations != 2 || x.LastRun.Outcome != materializer.OutcomeDone || !x.LastRun.At.Equal(start) {
			t.Errorf("after the run: %+v, %+v", x, x.LastRun)
		}
		if s := x.String(); !strings.Contains(s, "its last run had 2 operations") {
			t.Errorf("it says %q", s)
		}

		r.append("failing", "x", "!fail")
		settle()
		x = explain(key("failing"), materializer.StateDelayed)
		if x.Attempts != 1 || x.FailedAt != 2 || x.Error != errPlanted.Error() || !x.First.Equal(start) || x.Next.Before(start) || x.Next.After(start.Add(time.Hour)) {
			t.Errorf("after a failure: %+v", x)
		}
		if s := x.String(); !strings.Contains(s, "failed 1 times at seq 2: planted failure, next at") {
			t.Errorf("it says %q", s)
		}
		r.append("parked", "!panic")
		time.Sleep(3 * time.Hour)
		settle()
		if x = explain(key("parked"), materializer.StateParked); x.Stack == "" || x.Attempts != 2 || x.Last.Sub(x.First) <= 0 {
			t.Errorf("parked: %+v", x)
		}

		r.append("b1", "hold")
		r.append("b2", "hold")
		<-h.reached
		<-h.reached
		explain(key("b1"), materializer.StateRunning)
		r.append("b1", "x")
		settle()
		explain(key("b1"), materializer.StateRequeue)
		r.append("c", "x")
		settle()
		explain(key("c"), materializer.StateQueued)
		close(h.goOn)

		other := store.Key{Collection: "others", ID: "a"}
		explain(other, materializer.StateNone)
		if _, err := r.st.Append(t.Context(), []store.Append{{Key: other, Entries: []store.Entry{{}}}}); err != nil {
			t.Fatal(err)
		}
		explain(other, materializer.StateUnregistered)
		_, err := r.texts.Explain(t.Context(), "")
		wantErr(t, err, materializer.ErrInvalid)
	})
}

func TestExplainCooling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, specEvery(time.Hour)).start()
		settle() // or what is appended now is both read and heard of
		start := time.Now()
		r.append("a", "x")
		settle()
		if x, err := r.texts.Explain(t.Context(), "a"); err != nil || x.State != materializer.StateCooling || !x.Next.Equal(start.Add(time.Hour)) {
			t.Errorf("it is %s until %s, %v, want cooling for an hour", x.State, x.Next, err)
		}
	})
}

// Only the latest runs are remembered, whatever happens.
func TestLastRunsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.append("first", "x")
		settle()
		for _, id := range numbered("d", 4096) {
			r.append(id, "x")
		}
		settle()
		if x, _ := r.texts.Explain(t.Context(), "first"); x.LastRun != nil {
			t.Errorf("the first run is remembered after 4,096 others: %+v", x.LastRun)
		}
		r.append("d000000", "y", "z")
		settle()
		if x, _ := r.texts.Explain(t.Context(), "d000000"); x.LastRun == nil || x.LastRun.Operations != 2 {
			t.Errorf("the latest run is %+v, want one of 2 operations", x.LastRun)
		}
	})
}
