package materializer_test

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// Folds that are slow and do return: there are never more workers than are
// replaced at most, and a stop ends them all.
func TestSlowFoldsDoNotPileUpWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2}, specOf(func(s text, op operation) (text, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(3 * time.Second)
			return plain(s, op)
		}))
		for _, id := range numbered("d", 3000) {
			r.append(id, "x")
		}
		before := runtime.NumGoroutine()
		r.start()
		time.Sleep(2 * time.Minute)
		settle()
		if got, limit := most.Load(), int64(2+16); got > limit {
			t.Errorf("%d folds at once, want at most %d", got, limit)
		}
		if got := runtime.NumGoroutine() - before; got > 150 {
			t.Errorf("%d goroutines more than before", got)
		}
		if err := r.halt(); err != nil {
			t.Errorf("Run returned %v after a stop with a grace of 10 s and folds of 3 s", err)
		}
	})
}

// A reader that waits for a suspect looks now and then, and does not spin.
func TestReaderOfASuspectDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		st := newTap(newUnclean(memory.New(nil)))
		r := newRig(t, st, materializer.Config{Workers: 2}, specOf(h.fold))
		r.append("a", "hold")
		token := r.append("b", "x")
		r.start()
		<-h.reached
		ended := make(chan error, 1)
		go func() {
			_, err := r.texts.Get(t.Context(), "b", materializer.AtLeast(token))
			ended <- err
		}()
		time.Sleep(time.Second)
		settle()
		if got := r.m.Stats().Signals; got > 10 {
			t.Errorf("%d signals", got)
		}
		h.goOn <- struct{}{}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Discard makes the run of a suspect stale: that is no attempt.
func TestStaleRunOfASuspectIsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		s := specOf(h.fold)
		s.Retry.Attempts = 1
		r := newDamagedRig(t, newUnclean(memory.New(nil)), materializer.Config{Workers: 1}, s)
		r.append("a", "hold", "y", "z")
		r.start()
		defer r.halt()
		<-h.reached
		if err := r.texts.Discard(t.Context(), "a", 3, "the test", "to make it stale"); err != nil {
			t.Fatal(err)
		}
		h.goOn <- struct{}{}
		<-h.reached
		h.goOn <- struct{}{}
		settle()
		if doc := r.load("a"); doc.Parked() || doc.Dirty() || doc.Failure != nil {
			t.Errorf("applied %d of %d, failure %+v", doc.Applied, doc.Head, doc.Failure)
		}
	})
}

// A stop that leaves suspects leaves the mark, so that the next start is as
// careful; one that leaves none takes it away.
func TestStopWithSuspectsLeftLeavesTheMark(t *testing.T) {
	for _, left := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := newHold()
			st := newUnclean(memory.New(nil))
			r := newRig(t, st, materializer.Config{Workers: 1}, specOf(h.fold))
			r.append("a", "hold")
			r.append("b", "x")
			r.start()
			<-h.reached
			go func() { h.goOn <- struct{}{} }()
			if !left {
				settle()
			}
			if err := r.halt(); err != nil {
				t.Error(err)
			}
			settle()
			if got := slices.Contains(st.passed(), released); got == r.load("b").Dirty() {
				t.Errorf("b is dirty: %v, and the mark was taken away: %v", r.load("b").Dirty(), got)
			}
		})
	}
}

// A stop that gives up the run of a suspect costs it no attempt.
func TestGivenUpRunOfASuspectIsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, newUnclean(memory.New(nil)), materializer.Config{Workers: 1, Grace: time.Second}, specOf(h.fold))
		r.append("a", "hold")
		r.start()
		<-h.reached
		if f := r.load("a").Failure; f == nil || f.Attempts != 1 {
			t.Errorf("failure %+v, want the attempt recorded ahead", f)
		}
		wantErr(t, r.halt(), materializer.ErrGraceOver)
		if f := r.load("a").Failure; f != nil {
			t.Errorf("failure %+v, want none", f)
		}
		h.goOn <- struct{}{}
		settle()
		if doc := r.load("a"); doc.Applied != 0 || doc.Failure != nil {
			t.Errorf("applied %d, failure %+v: the late result was stored", doc.Applied, doc.Failure)
		}
	})
}
