package materializer_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// C2 to C7: a process that dies at any step of the way from append to view
// leaves nothing behind that the next start does not heal, without an append to
// wake it.
func TestC2ToC7_CrashIsHealedAtStart(t *testing.T) {
	for _, c := range []struct{ name, point string }{
		{"C2 after the append, before it is announced", appended},
		{"C3 before the load", atLoad},
		{"C3 after the load", loaded},
		{"C4 after the operations are read", operations},
		{"C5 during the fold", inFold},
		{"C6 before the commit", atCommit},
		{"C7 after the commit, before the document is given back", committed},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, st := newHold(), newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{Workers: 1}, specOf(h.fold)).start()
				settle()
				words := []string{"one", "two"}
				if c.point == inFold {
					words = []string{"one", "hold"}
				} else {
					st.on(c.point, st.kill)
				}
				if _, err := r.texts.Append(t.Context(), "a", word{words[0]}, word{words[1]}); err != nil && !errors.Is(err, errDead) || err == nil && c.point == appended {
					t.Fatalf("append: %v", err)
				}
				if c.point == inFold {
					<-h.reached
					st.kill()
				}
				settle()

				next := newRig(t, st.Backend, materializer.Config{}, specOf(plain)).start()
				settle()
				next.wantView("a", words[0]+" "+words[1], 2, 2)
				next.wantClean()
				if f := next.load("a").Failure; f != nil {
					t.Errorf("failure %+v, want none", f)
				}

				close(h.goOn) // what is left of the dead one changes nothing
				time.Sleep(time.Minute)
				settle()
				next.wantView("a", words[0]+" "+words[1], 2, 2)
				r.halt()
			})
		})
	}
}

// machinery #577: killed with 50 documents taken or queued, all are done again.
func TestMachinery577_KilledWithFiftyQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, st := newHold(), newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 2, Batch: 8}, specOf(h.fold)).start()
		ids := numbered("d", 50)
		r.append("first", "hold")
		<-h.reached
		r.append("second", "hold")
		<-h.reached
		for _, id := range ids {
			r.append(id, "x")
		}
		settle()
		if got := r.m.Stats(); got.Queued != 50 || got.Running != 2 {
			t.Fatalf("%d queued and %d running, want 50 and 2", got.Queued, got.Running)
		}
		st.kill()
		close(h.goOn)
		r.halt()
		if got := len(r.dirty()); got != 52 {
			t.Fatalf("%d documents are dirty, want 52", got)
		}
		next := newRig(t, st.Backend, materializer.Config{}, specOf(plain)).start()
		settle()
		next.wantClean()
		for _, id := range ids {
			next.wantView(id, "x", 1, 1)
		}
	})
}

// asynq #1144: nothing but the store says that documents are dirty, and no
// signal was ever given for them. They are found at start, and while running by
// the next sweep.
func TestAsynq1144_DirtyWithoutSignalIsSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		r.appendUnannounced("a", "x")
		r.start()
		settle()
		r.wantView("a", "x", 1, 1)

		r.appendUnannounced("b", "x")
		time.Sleep(31 * time.Second)
		settle()
		r.wantView("b", "x", 1, 1)
		r.wantClean()
	})
}

// An error of the store costs time, but no attempt, and no document of the run.
func TestStoreErrorsDuringARun(t *testing.T) {
	for _, point := range []string{atLoad, loaded, atOperations, operations, atCommit} {
		t.Run(point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{}, spec())
				r.append("a", "x")
				r.append("b", "x")
				var failures atomic.Int64
				st.onPoint(func(p string) error {
					if p == point && failures.Add(1) <= 5 {
						return store.ErrFull
					}
					return nil
				})
				r.start()
				time.Sleep(time.Minute)
				settle()
				r.wantClean()
				for _, c := range append(st.commitsOf("a"), st.commitsOf("b")...) {
					if c.Failure != nil {
						t.Errorf("%v: failure %+v, want none", c.Key, c.Failure)
					}
				}
			})
		})
	}
}

// While the store keeps failing, runs back off, and the documents of a run that
// went well are not held up for long after.
func TestStoreErrorsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 1}, spec())
		r.append("a", "x")
		start, failed := time.Now(), 0
		st.onPoint(func(p string) error {
			if p != atCommit || time.Since(start) > 5*time.Minute || failed >= 1000 {
				return nil
			}
			failed++
			return store.ErrFull
		})
		r.start()
		time.Sleep(5*time.Minute + 11*time.Second)
		settle()
		r.wantClean()
		if failed > 500 {
			t.Errorf("%d runs in 5 minutes, want far fewer", failed)
		}
	})
}

// A commit that is in doubt and was stored: who waits for the view gets it.
func TestCommitInDoubtThatWasStored(t *testing.T) {
	for _, last := range []string{"x", "!permanent"} {
		t.Run(last, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{}, spec())
				token := r.append("a", "x", last)
				got := make(chan error)
				go func() {
					_, err := r.texts.Get(within(t, 20*time.Second), "a", materializer.AtLeast(token))
					got <- err
				}()
				settle()
				st.on(committed, func() error { return store.ErrInDoubt })
				r.start()
				err := <-got
				if last == "x" && err != nil {
					t.Errorf("Get returned %v, want nil", err)
				} else if last != "x" {
					wantErr(t, err, materializer.ErrParked)
				}
				settle()
				r.wantClean()
			})
		})
	}
}
