package materializer_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

const processEnded = "the process ended while the document was being folded"

// newUnclean returns a store whose last claim is said to have ended uncleanly.
func newUnclean(below store.Backend) *tap {
	st := newTap(below)
	st.unclean = true
	return st
}

// The suspects are run one at a time, each attempt recorded before; what came
// later is not kept waiting by them, and nobody else is blamed.
func TestSuspectsAreRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, st := newHold(), newUnclean(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 4}, specOf(h.fold))
		suspects := numbered("s", 20)
		for _, id := range suspects {
			r.append(id, "x")
		}
		r.append("s000007", "hold")
		r.start()
		<-h.reached
		if f := r.load("s000007").Failure; f == nil || f.Attempts != 1 || f.Seq != 1 || f.Error != processEnded {
			t.Errorf("failure %+v while it is being folded, want one attempt recorded", f)
		}
		for _, id := range suspects[8:] {
			if doc := r.load(id); doc.Failure != nil || doc.Applied != 0 {
				t.Errorf("%s at %d, failure %+v, want it untouched", id, doc.Applied, doc.Failure)
			}
		}
		for _, id := range numbered("d", 20) {
			token := r.append(id, "x")
			if _, err := r.texts.Get(within(t, time.Millisecond), id, materializer.AtLeast(token)); err != nil {
				t.Fatal(err)
			}
		}
		if x, err := r.texts.Explain(t.Context(), suspects[9]); err != nil || x.State != materializer.StateSuspect {
			t.Errorf("%s is %s, %v, want suspect", x.Key, x.State, err)
		}
		health, err := r.m.Health(t.Context())
		if err != nil || health.Suspects != 13 {
			t.Errorf("%d suspects left, %v, want 13", health.Suspects, err)
		}
		r.append("s000007", "y") // also for a suspect, late operations count
		token := r.append(suspects[11], "y")
		close(h.goOn)
		if _, err := r.texts.Get(within(t, time.Second), suspects[11], materializer.AtLeast(token)); err != nil {
			t.Error(err)
		}
		settle()
		r.wantClean()
		for _, id := range suspects {
			if f := r.load(id).Failure; f != nil {
				t.Errorf("%s has the failure %+v, want none", id, f)
			}
			if commits := st.commitsOf(id); commits[0].Failure == nil || commits[0].Applied != 0 {
				t.Errorf("%s: the first commit is %+v, want a record ahead", id, commits[0])
			}
		}
		for _, id := range numbered("d", 20) {
			if n := len(st.commitsOf(id)); n != 1 {
				t.Errorf("%d commits of %s, want 1: it is no suspect", n, id)
			}
		}
	})
}

func TestCleanStartRecordsNothingAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec())
		for _, id := range numbered("s", 20) {
			r.append(id, "x")
		}
		r.start()
		settle()
		r.wantClean()
		for _, c := range st.commits {
			if c.Failure != nil {
				t.Errorf("%v: %+v", c.Key, c.Failure)
			}
		}
	})
}

// Shutdown takes the record back: it costs no attempt.
func TestShutdownDuringTheRunOfASuspectCostsNoAttempt(t *testing.T) {
	for _, before := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d attempts before", before), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := memory.New(nil)
				s := specOf(func(s text, op operation) (text, error) {
					time.Sleep(time.Hour)
					return plain(s, op)
				})
				r := newRig(t, newUnclean(st), materializer.Config{Grace: 2 * time.Hour}, s)
				r.append("a", "x")
				if before > 0 {
					if _, err := st.Commit(t.Context(), []store.Commit{{
						Key: key("a"), Failure: &store.Failure{Seq: 1, Attempts: before, Error: "earlier"},
					}}); err != nil {
						t.Fatal(err)
					}
				}
				reached, goOn := r.st.(*tap).stopAt(atOperations)
				r.start()
				<-reached
				if f := r.load("a").Failure; f == nil || f.Attempts != before+1 {
					t.Errorf("failure %+v, want %d attempts", f, before+1)
				}
				r.st.(*tap).onPoint(func(point string) error {
					if point == operations {
						return store.ErrFull // the store's fault is nobody's attempt either
					}
					return nil
				})
				goOn()
				settle()
				r.halt()
				f := r.load("a").Failure
				if before == 0 && f != nil || before > 0 && (f == nil || f.Attempts != before || f.Error != "earlier") {
					t.Errorf("failure %+v afterwards, want that of %d attempts", f, before)
				}
			})
		})
	}
}

// A suspect whose fold fails as any other does counts one attempt for it, not two.
func TestSuspectThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec()
		s.Retry = materializer.Retry{Attempts: 4, First: time.Second}
		r := newRig(t, newUnclean(memory.New(nil)), materializer.Config{}, s)
		r.append("a", "!fail")
		r.append("b", "x", "!panic")
		r.append("c", "!goexit")
		r.start()
		time.Sleep(time.Hour)
		settle()
		r.wantParked("a", 1, 4, errPlanted.Error())
		r.wantParked("b", 2, 4, "planted panic")
		r.wantParked("c", 1, 4, "goroutine")
		r.wantView("b", "x", 1, 2)
		if got := r.m.Stats().Parked; got != 3 {
			t.Errorf("%d parked, want 3", got)
		}
	})
}

// A paused and a parked document are suspects whenever they go on, and a large one
// in each slice.
func TestSuspectsThatComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newUnclean(memory.New(nil))
		r := newRig(t, st, materializer.Config{Bytes: 100}, spec())
		r.append("paused", numbered("w", 20)...)
		if err := r.texts.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.start()
		time.Sleep(time.Hour)
		settle()
		r.wantView("paused", "", 0, 20)
		if err := r.texts.Unpause(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle()
		r.wantClean()
		ahead := 0
		for _, c := range st.commitsOf("paused") {
			if c.Failure != nil && strings.Contains(c.Failure.Error, processEnded) {
				ahead++
			}
		}
		if n := len(st.commitsOf("paused")); ahead < 5 || n != 2*ahead {
			t.Errorf("%d commits, %d of them ahead, want one ahead of each slice", n, ahead)
		}
	})
}

// The store fails while suspects are read: they wait, and nothing is lost.
func TestSuspectsWhileTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newUnclean(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec())
		for _, id := range numbered("s", 10) {
			r.append(id, "x")
		}
		var failures atomic.Int64
		st.onPoint(func(point string) error {
			if point == atCommit || point == atLoad {
				if failures.Add(1) < 40 {
					return store.ErrFull
				}
			}
			return nil
		})
		r.start()
		time.Sleep(time.Hour)
		settle()
		r.wantClean()
	})
}
