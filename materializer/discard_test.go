package materializer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

func TestDiscardedOperationIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDeleting(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.append("a", "x", "!permanent", "y")
		settle()
		r.wantParked("a", 2, 1, errPlanted.Error())
		if err := r.texts.Discard(t.Context(), "a", 2, "ann", "typed by a cat"); err != nil {
			t.Fatal(err)
		}
		settle()
		r.wantView("a", "x y", 3, 3)

		wantErr(t, r.texts.Discard(t.Context(), "a", 3, "ann", "too late"), materializer.ErrInvalid)
		wantErr(t, r.texts.Discard(t.Context(), "a", 9, "ann", "no such"), materializer.ErrNotFound)
		wantErr(t, r.texts.Discard(t.Context(), "", 9, "ann", "no such"), materializer.ErrInvalid)
		n := 0
		for d, err := range r.texts.Discarded(t.Context()) {
			if n++; err != nil || d.ID != "a" || d.Seq != 2 || d.By != "ann" || d.Why != "typed by a cat" || d.At.IsZero() {
				t.Errorf("got %+v, %v, want the record", d, err)
			}
		}
		if n != 1 {
			t.Errorf("%d records, want 1", n)
		}
		if v, err := r.texts.Verify(t.Context(), materializer.VerifyOptions{}); err != nil || v.Different != 0 || v.Operations != 3 {
			t.Errorf("Verify: %+v, %v, want no difference", v, err)
		}
		for op, err := range r.texts.Operations(t.Context(), "a", 1) {
			if err != nil || op.Discarded != (op.Seq == 2) {
				t.Errorf("got %+v, %v, want the second one discarded", op, err)
			}
		}
	})
}

// Latest passes it over before any run does.
func TestLatestPassesOverDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDeleting(t, memory.New(nil), materializer.Config{}, spec())
		r.append("a", "x", "!fail", "y")
		if err := r.texts.Discard(t.Context(), "a", 2, "ann", "why not"); err != nil {
			t.Fatal(err)
		}
		if v, err := r.texts.Latest(t.Context(), "a"); err != nil || v.State.String() != "x y" || v.Head != 3 {
			t.Errorf("got %+v, %v, want x y at 3", v, err)
		}
	})
}

// An operation that nobody can decode can be discarded, and is still read.
func TestDiscardedGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDeleting(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.appendRaw("a", store.Entry{Body: []byte("garbage"), Kind: "unheard of"})
		time.Sleep(time.Minute)
		settle()
		r.wantParked("a", 1, 1, "unknown kind")
		if err := r.texts.Discard(t.Context(), "a", 1, "ann", "garbage"); err != nil {
			t.Fatal(err)
		}
		settle()
		r.wantView("a", "", 1, 1)
		for op, err := range r.texts.Operations(t.Context(), "a", 1) {
			if err != nil || !op.Discarded || op.Kind != "unheard of" || op.Body.Text != "" {
				t.Errorf("got %+v, %v, want a discarded operation without a body", op, err)
			}
		}
	})
}

func TestResumeAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mended := false
		r := newDeleting(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			if mended {
				return plain(s, op)
			}
			return fold(s, op)
		})).start()
		start := time.Now()
		for _, id := range numbered("d", 600) {
			r.append(id, "x", "!permanent")
		}
		settle()
		mended = true
		first := true
		for p, err := range r.texts.Parked(t.Context()) {
			if first && (err != nil || !p.First.Equal(start) || !p.Last.Equal(start)) {
				t.Errorf("got %+v, %v, want first and last at %s", p, err, start)
			}
			first = false
		}
		if n, err := r.texts.ResumeAll(t.Context()); n != 600 || err != nil {
			t.Errorf("resumed %d, %v, want 600", n, err)
		}
		settle()
		r.wantClean()
		if n, err := r.texts.ResumeAll(t.Context()); n != 0 || err != nil {
			t.Errorf("resumed %d, %v, want none", n, err)
		}
	})
}

// The resume comes when the run that parks has stored that, and has not given
// the document back yet.
func TestResumeWhileTheRunThatParksIsInHand(t *testing.T) {
	for _, point := range []string{atCommit, committed} {
		t.Run(fmt.Sprint(point), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newTap(memory.New(nil))
				mended := false
				r := newDeleting(t, st, materializer.Config{}, specOf(func(s text, op operation) (text, error) {
					if mended {
						return plain(s, op)
					}
					return fold(s, op)
				})).start()
				settle()
				reached, goOn := st.stopAt(point)
				r.append("a", "!permanent")
				<-reached
				if _, err := r.texts.Resume(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				settle()
				mended = true
				goOn()
				settle()
				if point == committed {
					r.wantView("a", "!permanent", 1, 1)
				} else {
					r.wantParked("a", 1, 1, errPlanted.Error())
				}
			})
		})
	}
}
