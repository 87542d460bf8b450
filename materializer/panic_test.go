package materializer_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/worker"
)

// W1: a panic neither kills a worker nor poisons its document, and neither does
// a fold that ends its goroutine.
func TestW1_PanicKillsNoWorkerAndPoisonsNoDocument(t *testing.T) {
	for _, c := range []struct{ word, record, frame string }{
		{"!panic", "planted panic", "materializer_test.fold"},
		{"!goexit", worker.ErrGoexit.Error(), ""},
	} {
		t.Run(c.word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mended atomic.Bool
				h := newHold()
				s := specOf(func(s text, op operation) (text, error) {
					if mended.Load() {
						return plain(s, op)
					}
					return h.fold(s, op)
				})
				s.Retry.Attempts = 5
				r := newRig(t, memory.New(nil), materializer.Config{Workers: 2}, s).start()
				r.append("bad", "one", "two", c.word, "four")
				others := numbered("d", 100)
				for _, id := range others {
					r.append(id, "x")
				}
				time.Sleep(10 * time.Second)
				settle()
				for _, id := range others {
					r.wantView(id, "x", 1, 1)
				}
				r.wantView("bad", "one two", 2, 4)
				if stack := r.wantParked("bad", 3, 5, c.record).Stack; !strings.Contains(stack, c.frame) || c.frame == "" && stack != "" {
					t.Errorf("recorded stack %q, want %q in it", stack, c.frame)
				}

				// As many workers as at the start.
				r.append("left", "hold")
				<-h.reached
				r.append("right", "hold")
				<-h.reached
				close(h.goOn)

				mended.Store(true)
				if n, err := r.texts.Resume(t.Context(), "bad", "d000001", "nobody"); n != 1 || err != nil {
					t.Errorf("resumed %d, %v, want 1, nil", n, err)
				}
				settle()
				r.wantView("bad", "one two "+c.word+" four", 4, 4)
				if f := r.load("bad").Failure; f != nil {
					t.Errorf("failure %+v after a run that went well, want none", f)
				}
				r.wantClean()
			})
		})
	}
}

// Who waits for a document is told that it is parked, also if the fold ended its
// goroutine.
func TestGoexitParksAndTellsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec()
		s.Retry.Attempts = 3
		r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
		token := r.append("bad", "one", "!goexit")
		v, err := r.texts.Get(within(t, 10*time.Second), "bad", materializer.AtLeast(token))
		wantErr(t, err, materializer.ErrParked)
		if v.State.String() != "one" {
			t.Errorf("view %q with the error, want the last good one", v.State)
		}
	})
}

// Panics outside of the fold are the application's too: in its codecs.
func TestPanicInACodec(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(s *textSpec)
	}{
		{"decoding an operation", func(s *textSpec) { s.Operations = panickingOperations{} }},
		{"encoding a view", func(s *textSpec) { s.Views = panickingViews{} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := spec()
				s.Retry.Attempts = 2
				c.set(&s)
				r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
				r.append("bad", "!codec", "x")
				r.append("good", "x")
				time.Sleep(time.Second)
				settle()
				r.wantView("good", "x", 1, 1)
				r.wantParked("bad", 1, 2, "planted codec panic")
			})
		})
	}
}

type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

// An error whose text panics, as that of a typed nil does, is the document's
// failure like any other.
func TestErrorWhoseTextPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := specOf(func(s text, op operation) (text, error) {
			if op.Body.Text == "!nil" {
				var none *brokenError
				return s, none
			}
			return fold(s, op)
		})
		s.Retry.Attempts = 3
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1}, s)
		r.append("bad", "one", "!nil")
		r.append("good", "x")
		r.start()
		time.Sleep(time.Minute)
		settle()
		r.wantView("good", "x", 1, 1)
		r.wantView("bad", "one", 1, 2)
		r.wantParked("bad", 2, 3, "nil")
	})
}
