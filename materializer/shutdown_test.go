package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// W13: shutdown waits for the runs in hand, and stores them. What is queued stays
// dirty. Nothing is written afterwards.
func TestW13_ShutdownWaitsForRunsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, st := newHold(), newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 2, Batch: 1}, specOf(h.fold)).start()
		r.append("a", "hold")
		r.append("b", "hold")
		<-h.reached
		<-h.reached
		r.append("c", "hold") // both workers are at work
		r.stop(nil)
		time.Sleep(9 * time.Second) // the grace is 10
		settle()
		select {
		case err := <-r.done:
			t.Fatalf("Run returned %v while runs were in hand", err)
		default:
		}
		close(h.goOn)
		if err := <-r.done; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
		r.stop = nil
		writes := st.writes()
		r.wantView("a", "hold", 1, 1)
		r.wantView("b", "hold", 1, 1)
		r.wantView("c", "", 0, 1)
		time.Sleep(time.Hour)
		settle()
		if got := st.writes(); got != writes {
			t.Errorf("%d writes after Run returned, want none", got-writes)
		}
	})
}

// W13, river #1258 and #78: a fold that does not return is named when the grace
// is over, and not later. Its result goes nowhere, and another materializer
// does the work.
func TestW13_River78_River1258_StuckFoldIsNamedAndItsResultRefused(t *testing.T) {
	for _, grace := range []time.Duration{-1, 100 * time.Millisecond, time.Minute} {
		t.Run(fmt.Sprint(grace), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, st := newHold(), newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{Workers: 2, Grace: grace}, specOf(h.fold)).start()
				r.append("stuck", "x", "hold")
				<-h.reached
				r.append("fine", "x")
				settle()
				r.wantView("fine", "x", 1, 1)
				if got := r.m.Stats().Running; got != 1 {
					t.Errorf("%d running, want the one that is stuck", got)
				}

				start := time.Now()
				err := r.halt()
				if took := time.Since(start); took < grace || took > max(grace, 0)+100*time.Millisecond {
					t.Errorf("Run returned after %v, want the grace of %v and at most 100 ms", took, max(grace, 0))
				}
				stuck, ok := errors.AsType[*materializer.StuckError](err)
				if !ok || !slices.Equal(stuck.Documents, []materializer.Key{key("stuck")}) || !strings.Contains(err.Error(), "texts/stuck") {
					t.Errorf("Run returned %v, want a StuckError that names texts/stuck", err)
				}
				wantErr(t, err, materializer.ErrGraceOver)
				writes := st.writes()

				next := newRig(t, st.Backend, materializer.Config{}, specOf(plain)).start()
				settle()
				next.wantView("stuck", "x hold", 2, 2)
				h.goOn <- struct{}{} // it returns after all
				settle()
				if got := st.writes(); got != writes {
					t.Errorf("%d writes after Run returned, want none", got-writes)
				}
				next.wantView("stuck", "x hold", 2, 2)
				if err := next.halt(); err != nil {
					t.Errorf("the next Run returned %v, want nil", err)
				}
			})
		})
	}
}

func TestStuckErrorNamesAFew(t *testing.T) {
	err := &materializer.StuckError{}
	for _, id := range numbered("d", 7) {
		err.Documents = append(err.Documents, key(id))
	}
	got := err.Error()
	if !strings.Contains(got, "7 folds") || !strings.Contains(got, "d000004, …") || strings.Contains(got, "d000005") {
		t.Errorf("got %q, want the number 7 and five names", got)
	}
}

// A run that heeds the end of its grace between two operations ends there: what
// it has folded is stored, and no attempt is counted.
func TestEndOfTheGraceKeepsWhatIsFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Grace: 4510 * time.Millisecond}, specOf(func(s text, op operation) (text, error) {
			time.Sleep(time.Second / 50)
			return fold(s, op)
		})).start()
		r.append("a", numbered("w", 1000)...)
		settle()
		if err := r.halt(); err != nil {
			t.Errorf("Run returned %v, want nil: the run has ended", err)
		}
		doc := r.load("a")
		if doc.Failure != nil || doc.Applied != 226 {
			t.Errorf("failure %+v and applied %d, want none and 226", doc.Failure, doc.Applied)
		}
		newRig(t, st.Backend, materializer.Config{}, spec()).start()
		settle()
		r.wantClean()
	})
}

// river #400: the context given to Run is cancelled while folds run; they end
// well, and their views are stored.
func TestRiver400_ContextCancelledWhileFoldsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 8, Batch: 1}, specOf(h.fold)).start()
		ids := numbered("d", 8)
		for _, id := range ids {
			r.append(id, "one", "hold", "three")
			<-h.reached
		}
		r.stop(errPlanted)
		settle()
		close(h.goOn)
		if err := <-r.done; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
		r.stop = nil
		for _, id := range ids {
			r.wantView(id, "one hold three", 3, 3)
		}
		_, err := r.texts.Get(t.Context(), "d000000", materializer.AtLeast(r.append("d000000", "x")))
		wantErr(t, err, materializer.ErrNotRunning)
		wantErr(t, err, errPlanted)
	})
}

// temporal sdk-go #1197: told to stop at any point between the take and the end
// of a run, the document is done or dirty, and the next start finds it.
func TestTemporal1197_StopBetweenTakeAndCommit(t *testing.T) {
	for _, grace := range []time.Duration{0, -1} {
		for _, point := range []string{claimed, atLoad, loaded, atOperations, operations, inFold, atCommit, committed} {
			t.Run(fmt.Sprint(point, " ", grace), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st := newTap(memory.New(nil))
					var r *rig
					r = newRig(t, st, materializer.Config{Grace: grace}, specOf(func(s text, op operation) (text, error) {
						if op.Body.Text == inFold {
							r.stop(nil)
						}
						return plain(s, op)
					}))
					r.append("a", point)
					ctx, stop := context.WithCancelCause(t.Context())
					r.stop, r.done = stop, make(chan error, 1)
					st.on(point, func() error { stop(nil); return nil })
					if err := r.m.Run(ctx); err != nil {
						t.Errorf("Run returned %v, want nil", err)
					}
					r.stop = nil
					doc := r.load("a")
					if grace == 0 && point != claimed && doc.Dirty() {
						t.Error("the run in hand was not stored within the grace")
					}
					if doc.Failure != nil {
						t.Errorf("failure %+v, want none", doc.Failure)
					}
					newRig(t, st.Backend, materializer.Config{}, specOf(plain)).start()
					settle()
					r.wantView("a", point, 1, 1)
					r.wantClean()
				})
			})
		}
	}
}

// watermill #446: first the intake ends, then the workers, then the last writes
// are done, then the claim is released; the store is the caller's to close.
func TestWatermill446_OrderOfShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, st := newHold(), newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 2, Batch: 1}, specOf(h.fold)).start()
		r.append("a", "hold")
		r.append("b", "hold")
		<-h.reached
		<-h.reached
		r.stop(nil)
		settle()
		before := len(st.passed())
		r.append("c", "x")
		r.append("a", "late")
		close(h.goOn)
		if err := <-r.done; err != nil {
			t.Fatal(err)
		}
		r.stop = nil
		got := fmt.Sprintf("%q", st.passed()[before:])
		want := fmt.Sprintf("%q", []string{atAppend, appended, atAppend, appended, atCommit, committed, atCommit, committed, released})
		twoAtOnce := fmt.Sprintf("%q", []string{atAppend, appended, atAppend, appended, atCommit, atCommit, committed, committed, released})
		if got != want && got != twoAtOnce {
			t.Errorf("after the stop: %s, want %s", got, want)
		}
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// A store that fails with ErrClosed under a materializer ends it, whether it has
// something to do or not.
func TestStoreClosedUnderRun(t *testing.T) {
	for _, busy := range []bool{true, false} {
		t.Run(fmt.Sprintf("busy %v", busy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHold()
				r := newRig(t, memory.New(nil), materializer.Config{}, specOf(h.fold)).start()
				if busy {
					r.append("a", "hold")
					<-h.reached
				}
				settle()
				r.st.Close()
				close(h.goOn)
				select {
				case err := <-r.done:
					wantErr(t, err, materializer.ErrClosed)
					r.stop = nil
				case <-time.After(time.Minute):
					t.Error("Run has not returned a minute after the store was closed")
				}
				_, err := r.texts.Get(t.Context(), "a")
				wantErr(t, err, materializer.ErrClosed)
			})
		})
	}
}
