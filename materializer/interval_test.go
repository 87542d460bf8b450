package materializer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

func specEvery(d time.Duration) textSpec {
	s := spec()
	s.MinInterval = d
	return s
}

// The first run comes at once, the next one when the interval is over, with all
// that came meanwhile; and after a rest, one comes at once again.
func TestMinInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, specEvery(50*time.Second)).start()
		settle()
		start := time.Now()
		r.append("a", "x")
		settle()
		r.wantView("a", "x", 1, 1)
		for range 49 {
			time.Sleep(time.Second)
			r.append("a", "y")
			settle()
		}
		if doc := r.load("a"); doc.Applied != 1 {
			t.Errorf("applied %d within the interval, want 1", doc.Applied)
		}
		if x, err := r.texts.Explain(t.Context(), "a"); err != nil || x.State != materializer.StateDelayed || !x.Next.Equal(start.Add(50*time.Second)) {
			t.Errorf("it is %s until %s, %v, want delayed until the interval is over", x.State, x.Next, err)
		}
		time.Sleep(time.Second)
		settle()
		if doc := r.load("a"); doc.Applied != 50 {
			t.Errorf("applied %d when the interval is over, want 50", doc.Applied)
		}
		if n := len(st.commitsOf("a")); n != 2 {
			t.Errorf("%d runs, want 2", n)
		}
		if got := r.m.Stats(); got.Cooling != 1 || got.Delayed != 0 {
			t.Errorf("%+v, want one that is cooling", got)
		}
		time.Sleep(time.Minute)
		settle()
		if got := r.m.Stats(); got.Cooling != 0 {
			t.Errorf("%+v, want nothing in the table", got)
		}
		r.append("a", "z")
		settle()
		if doc := r.load("a"); doc.Applied != 51 {
			t.Errorf("applied %d after a rest, want 51 at once", doc.Applied)
		}
	})
}

// A signal that comes during the run waits for the interval too, and so does one
// that only the store knows of.
func TestMinIntervalAndASignalDuringTheRun(t *testing.T) {
	for _, announced := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h, st := newHold(), newTap(memory.New(nil))
			s := specEvery(time.Minute)
			s.Fold = h.fold
			r := newRig(t, st, materializer.Config{}, s).start()
			r.append("a", "hold")
			<-h.reached
			time.Sleep(100 * time.Millisecond)
			if announced {
				r.append("a", "x")
			} else {
				r.appendUnannounced("a", "x")
			}
			h.goOn <- struct{}{}
			settle()
			r.wantView("a", "hold", 1, 2)
			time.Sleep(time.Minute - 101*time.Millisecond)
			settle()
			r.wantView("a", "hold", 1, 2)
			time.Sleep(time.Millisecond)
			settle()
			r.wantView("a", "hold x", 2, 2)
		})
	}
}

// Slices of a large document follow each other at once.
func TestMinIntervalDoesNotDelaySlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{Bytes: 100}, specEvery(time.Hour))
		r.append("a", numbered("w", 50)...)
		r.start()
		settle()
		r.wantClean()
	})
}

// More documents rest than there is room for: some run sooner than they should,
// and no signal is lost.
func TestMinIntervalWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{Queue: 4}, specEvery(time.Minute)).start()
		ids := numbered("d", 50)
		for range 5 {
			for _, id := range ids {
				r.append(id, "x")
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute)
		settle()
		r.wantClean()
	})
}

func TestMinIntervalMustNotBeNegative(t *testing.T) {
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = materializer.Register(m, specEvery(-1))
	wantErr(t, err, materializer.ErrInvalid)
}

// A failure waits for the longer of both.
func TestMinIntervalAndAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried attempts
		s := specEvery(time.Minute)
		s.Retry = materializer.Retry{Attempts: 3, First: time.Millisecond}
		s.Fold = func(s text, op operation) (text, error) {
			tried.note()
			return fold(s, op)
		}
		r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
		r.append("a", "!fail")
		time.Sleep(time.Hour)
		settle()
		if len(tried.times) != 3 || tried.times[1].Sub(tried.times[0]) < time.Minute || tried.times[2].Sub(tried.times[1]) < time.Minute {
			t.Errorf("tried at %v, want a minute between", tried.times)
		}
	})
}
