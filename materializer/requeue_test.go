package materializer_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// The steps of a run at which an operation can arrive. The last one is the
// narrowest: the run is stored, and the table does not know it yet.
var stepsOfARun = []string{loaded, operations, inFold, atCommit, committed}

const inFold = "in the fold"

// F281, aquadoggo #281: an operation that is appended while its document is in
// hand is in the view after the next run, and nothing else has to happen for it.
func TestF281_LateOperationIsInTheNextRun(t *testing.T) {
	for _, step := range stepsOfARun {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, st := newHold(), newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{Workers: 2}, specOf(h.fold)).start()
				settle()
				goOn := h.step(st, r, step)
				r.append("a", "late")
				settle() // the signal has arrived
				goOn()
				settle()
				r.wantClean()
				if doc := r.load("a"); doc.Applied != 2 {
					t.Errorf("applied %d of %d, want 2", doc.Applied, doc.Head)
				}
				// An operation that comes before the operations are read is in that run.
				if got := r.m.Stats().Requeues; got != 1 {
					t.Errorf("%d requeues, want 1", got)
				}
			})
		})
	}
}

// The same where nobody announces the operation, because another process
// appended it: up to the commit, the commit itself tells.
func TestF281_LateOperationThatNobodyAnnounces(t *testing.T) {
	for _, step := range []string{loaded, operations, inFold, atCommit} {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, st := newHold(), newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{Workers: 2}, specOf(h.fold)).start()
				settle()
				goOn := h.step(st, r, step)
				r.appendUnannounced("a", "late")
				goOn()
				settle()
				r.wantClean()
			})
		})
	}
}

// step appends to document a and brings its run to a step.
func (h *hold) step(st *tap, r *rig, step string) (goOn func()) {
	if step == inFold {
		r.append("a", "hold")
		<-h.reached
		return func() { h.goOn <- struct{}{} }
	}
	reached, goOn := st.stopAt(step)
	r.append("a", "early")
	<-reached
	return goOn
}

// A thousand times with nothing but the scheduler to decide which comes first.
// Waiting for the view would be a signal of its own, so the changes are followed.
func TestF281_AThousandTimes(t *testing.T) {
	for range 10 {
		testLateOperationsOften(t)
	}
}

func testLateOperationsOften(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second) // the next sweep is at 30 s
	defer cancel()
	reached := make(chan struct{}, 1)
	atStep := func() {
		select {
		case reached <- struct{}{}:
			for range rand.IntN(4) {
				runtime.Gosched()
			}
		default:
		}
	}
	st := newTap(memory.New(nil))
	r := newRig(t, st, materializer.Config{Workers: 2}, specOf(func(s text, op operation) (text, error) {
		if op.Body.Text == inFold {
			atStep()
		}
		return fold(s, op)
	})).start()
	changes, stop := iter.Pull2(r.texts.Changes(ctx, materializer.Cursor{}))
	defer stop()
	for i, id := range numbered("d", 100) {
		step := stepsOfARun[i%len(stepsOfARun)]
		st.onPoint(func(point string) error {
			if point == step {
				atStep()
			}
			return nil
		})
		r.append(id, step)
		select {
		case <-reached:
		case <-ctx.Done():
			t.Fatalf("document %d did not come to the step %s", i, step)
		}
		r.append(id, "late")
		for applied := int64(0); applied < 2; {
			v, err, _ := changes()
			if err != nil {
				t.Fatalf("document %d, late operation %s: %v", i, step, err)
			}
			if v.ID == id {
				applied = v.Applied
			}
		}
	}
	r.wantClean()
}
