package materializer_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// A read is a signal: a dirty document that nobody announced is folded because
// somebody waits for it.
func TestAtLeastIsASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		settle()
		start := time.Now()
		token := r.appendUnannounced("a", "x")
		if v, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token)); err != nil || v.Applied != 1 {
			t.Errorf("got %+v, %v, want applied 1", v, err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v, want no time", took)
		}
	})
}

// The same while the document is in hand, at any step: the signal of a read may
// no more be lost than that of an append.
func TestAtLeastIsASignalWhileTheDocumentIsInHand(t *testing.T) {
	for _, step := range stepsOfARun {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, st := newHold(), newTap(memory.New(nil))
				r := newRig(t, st, materializer.Config{}, specOf(h.fold)).start()
				settle()
				goOn := h.step(st, r, step)
				start := time.Now()
				token := r.appendUnannounced("a", "late")
				got := make(chan error, 1)
				go func() {
					_, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
					got <- err
				}()
				settle()
				goOn()
				if err := <-got; err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("it took %v, want no time", took)
				}
			})
		})
	}
}

func TestAtLeastIsASignal_AThousandTimes(t *testing.T) {
	for range 10 {
		testAtLeastIsASignalOften(t)
	}
}

func testAtLeastIsASignalOften(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second) // the next sweep is at 30 s
	defer cancel()
	r := newRig(t, memory.New(nil), materializer.Config{Workers: 2}, spec()).start()
	for _, id := range numbered("d", 100) {
		r.append(id, "early")
		for range rand.IntN(8) {
			runtime.Gosched()
		}
		token := r.appendUnannounced(id, "late")
		if _, err := r.texts.Get(ctx, id, materializer.AtLeast(token)); err != nil {
			t.Fatal(err)
		}
	}
}
