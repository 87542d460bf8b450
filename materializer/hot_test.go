package materializer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

func TestHotDocumentIsRunWithoutReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec()).start()
		r.append("a", "one")
		settle()
		reads := 0
		st.onPoint(func(point string) error {
			if point == atLoad || point == atOperations {
				reads++
			}
			return nil
		})
		r.append("a", "two", "three")
		settle()
		r.append("a", "four")
		settle()
		if reads != 0 {
			t.Errorf("%d reads", reads)
		}
		r.wantView("a", "one two three four", 4, 4)
		reads = 0
		time.Sleep(2*time.Minute + 5*time.Second) // and nobody uses it; not at the moment of a sweep
		reads = 0
		r.append("a", "five")
		settle()
		if reads != 2 {
			t.Errorf("%d reads after a long time, want a load and the operations", reads)
		}
		r.wantView("a", "one two three four five", 5, 5)
		r.wantClean()
	})
}

// Whatever happens to a document behind the materializer's back, its next run is
// right.
func TestHotDocumentThatIsNotWhatItWas(t *testing.T) {
	for name, change := range map[string]func(r *rig, st *tap) error{
		"an operation that nobody told of": func(r *rig, st *tap) error {
			r.appendUnannounced("a", "two")
			return nil
		},
		"a view of somebody else": func(r *rig, st *tap) error {
			r.appendUnannounced("a", "two")
			return r.commitRaw("a", 2)
		},
		"a commit that fails": func(r *rig, st *tap) error {
			failed := false
			st.onPoint(func(point string) error {
				if point == atCommit && !failed {
					failed = true
					return errors.New("no space")
				}
				return nil
			})
			r.append("a", "two")
			return nil
		},
		"a commit of which the answer is lost": func(r *rig, st *tap) error {
			lost := false
			st.onPoint(func(point string) error {
				if point == committed && !lost {
					lost = true
					return store.ErrInDoubt
				}
				return nil
			})
			r.append("a", "two")
			return nil
		},
		"a fold that fails once": func(r *rig, st *tap) error {
			r.append("a", "two")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failing := false
				s := spec()
				fold := s.Fold
				s.Fold = func(state text, op operation) (text, error) {
					if failing && op.Seq == 2 {
						failing = false
						return text{}, errors.New("once")
					}
					return fold(state, op)
				}
				st := newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{}, s).start()
				r.append("a", "one")
				settle()
				failing = name == "a fold that fails once"
				if err := change(r, st); err != nil {
					t.Fatal(err)
				}
				r.append("a", "three")
				time.Sleep(time.Minute)
				settle()
				r.append("a", "four")
				settle()
				r.wantView("a", "one two three four", 4, 4)
				r.wantClean()
			})
		})
	}
}

// A discard changes what a fold gets of an operation that was told of already.
func TestHotOperationThatIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newDeleting(t, st, materializer.Config{}, spec()).start()
		r.append("a", "one")
		settle()
		reached, goOn := st.stopAt(atCommit)
		r.append("a", "two")
		<-reached
		err := untapped(st).Discard(context.Background(), store.Discard{Key: key("a"), Seq: 2, By: "a test", Why: "it is one"})
		goOn()
		if err != nil {
			t.Fatal(err)
		}
		settle()
		r.append("a", "three")
		settle()
		r.wantView("a", "one three", 3, 3)
	})
}
