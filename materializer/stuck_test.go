package materializer_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// One fold that never returns among 100 documents taken together, and then more
// of them than there are workers: everybody else is done within seconds, and
// Run names those that are stuck. One that returns after all is stored, and the
// pool is as large as before.
func TestFoldThatNeverReturnsHoldsUpNobody(t *testing.T) {
	for _, workers := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHold()
				r := newRig(t, memory.New(nil), materializer.Config{Workers: workers, Bytes: int64(workers) << 10}, specOf(h.fold))
				ids := numbered("d", 100)
				var stuck []string
				for i, id := range ids {
					r.append(id, "x")
					if i%20 == 10 {
						stuck = append(stuck, "stuck"+id)
						r.append("stuck"+id, "x", "hold")
					}
				}
				r.start()
				for range stuck {
					<-h.reached
				}
				time.Sleep(2 * time.Second)
				settle()
				for _, id := range ids {
					r.wantView(id, "x", 1, 1)
				}
				if got := r.m.Stats(); got.Running != len(stuck) || got.Queued != 0 {
					t.Errorf("%d running and %d queued, want the %d that are stuck and none", got.Running, got.Queued, len(stuck))
				}
				for i := range 50 { // late operations of everybody else
					token := r.append(ids[i], "y")
					if _, err := r.texts.Get(within(t, 10*time.Second), ids[i], materializer.AtLeast(token)); err != nil {
						t.Fatal(err)
					}
				}
				r.append(stuck[0], "late")
				for range 2 { // which ones, chance says
					h.goOn <- struct{}{}
				}
				settle()
				if got := r.m.Stats().Running; got != len(stuck)-2 {
					t.Errorf("%d running after two have returned, want %d", got, len(stuck)-2)
				}
				err := r.halt()
				s, ok := errors.AsType[*materializer.StuckError](err)
				if !ok || len(s.Documents) != len(stuck)-2 {
					t.Fatalf("Run returned %v, want a StuckError of %d documents", err, len(stuck)-2)
				}
				for _, id := range stuck {
					if slices.Contains(s.Documents, key(id)) {
						r.wantViewOneOf(id, "")
					} else {
						r.wantViewOneOf(id, "x hold", "x hold late")
					}
				}
				close(h.goOn)
			})
		})
	}
}

func (r *rig) wantViewOneOf(id string, want ...string) {
	r.t.Helper()
	if got := r.state(r.load(id)).String(); !slices.Contains(want, got) {
		r.t.Errorf("%s: view %q, want one of %q", id, got, want)
	}
}

// Those that a hand has folded before a slow one are stored and given back before
// it, once it is known to be slow.
func TestSlowDocumentIsTakenAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 1}, specOf(func(s text, op operation) (text, error) {
			if op.Document == "slow" {
				time.Sleep(500 * time.Millisecond)
			}
			return plain(s, op)
		})).start()
		r.append("slow", "x")
		time.Sleep(time.Second)
		h, goOn := st.stopAt(atLoad)
		r.append("first", "x")
		<-h
		r.append("slow", "y") // all of these are taken together
		ids := numbered("d", 20)
		for _, id := range ids {
			r.append(id, "x")
		}
		settle()
		start := time.Now()
		goOn()
		for _, id := range ids {
			if _, err := r.texts.Get(t.Context(), id, materializer.AtLeast(r.end())); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the others waited %v for the slow one", took)
		}
		settle()
		time.Sleep(time.Second)
		r.wantClean()
	})
}

// More folds than can be replaced never return: the pool loses workers then, and
// no more goroutines than that are made.
func TestReplacedWorkersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Batch: 1, Grace: -1}, specOf(h.fold)).start()
		const most = 16
		for _, id := range numbered("s", most+5) {
			r.append(id, "hold")
		}
		for range most + 1 {
			<-h.reached
		}
		time.Sleep(time.Minute)
		settle()
		if got := r.m.Stats(); got.Running != most+1 || got.Queued != 4 {
			t.Errorf("%d running and %d queued, want %d and 4", got.Running, got.Queued, most+1)
		}
		go func() {
			for range h.reached {
			}
		}()
		close(h.goOn)
		settle()
		r.wantClean()
		close(h.reached)
		token := r.append("a", "x")
		if _, err := r.texts.Get(within(t, time.Minute), "a", materializer.AtLeast(token)); err != nil {
			t.Error(err)
		}
	})
}

// The fold of a suspect never returns: the other suspects go on after a minute.
func TestSuspectThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, newUnclean(memory.New(nil)), materializer.Config{Workers: 1, Grace: -1}, specOf(h.fold))
		r.append("s1", "x")
		r.append("s2", "hold")
		r.append("s3", "x")
		r.append("s4", "x")
		r.start()
		<-h.reached
		time.Sleep(30 * time.Second)
		settle()
		if doc := r.load("s3"); doc.Failure != nil {
			t.Errorf("s3 is marked while s2 may yet end the process: %+v", doc.Failure)
		}
		time.Sleep(time.Minute)
		settle()
		r.wantView("s3", "x", 1, 1)
		r.wantView("s4", "x", 1, 1)
		h.goOn <- struct{}{}
		settle()
		r.wantView("s2", "hold", 1, 1)
		r.wantClean()
	})
}

// Many folds of a hand are slow, none very: what came with them is done by others
// meanwhile, and nothing is folded twice.
func TestSlowFoldsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		var folds atomic.Int64
		r := newRig(t, st, materializer.Config{Workers: 2}, specOf(func(s text, op operation) (text, error) {
			folds.Add(1)
			if op.Body.Text == "slow" {
				time.Sleep(900 * time.Millisecond)
			}
			return plain(s, op)
		}))
		for _, id := range numbered("s", 10) {
			r.append(id, "slow")
		}
		for _, id := range numbered("z", 40) {
			r.append(id, "x")
		}
		start := time.Now()
		r.start()
		if err := r.m.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		// How evenly depends on which worker the machine lets take first.
		if took := time.Since(start); took >= 9*time.Second {
			t.Errorf("10 folds of 0.9 s took two workers %v, as long as one", took)
		}
		if got := folds.Load(); got != 50 {
			t.Errorf("%d folds of 50 operations", got)
		}
	})
}
