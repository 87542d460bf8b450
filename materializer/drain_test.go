package materializer_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// Drain waits for all that came before the call, whether it was announced or not,
// and for nothing that came after.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2, Batch: 1}, specOf(h.fold)).start()
		if err := r.m.Drain(t.Context()); err != nil {
			t.Errorf("nothing to wait for: %v", err)
		}
		r.append("a", "hold")
		<-h.reached
		for _, id := range numbered("d", 30) {
			r.appendUnannounced(id, "x")
		}
		done := make(chan error, 3)
		go func() { done <- r.m.Drain(t.Context()) }()
		go func() { done <- r.texts.Drain(t.Context()) }()
		go func() { done <- r.texts.Drain(t.Context(), "d000003", "a", "never was") }()
		settle()
		if len(done) > 0 {
			t.Errorf("Drain returned %v with a document in hand", <-done)
		}
		if err := r.texts.Drain(t.Context(), "d000007"); err != nil {
			t.Errorf("one that is done: %v", err)
		}
		r.append("b", "hold")
		<-h.reached
		h.goOn <- struct{}{} // a or b, by chance
		h.goOn <- struct{}{}
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		settle()
		r.wantClean()
	})
}

// Parked documents fail nobody: the rest is finished, and then they are named.
func TestDrainNamesParkedDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.append("bad1", "!permanent")
		r.append("bad2", "x", "!fail")
		ids := numbered("d", 100)
		for _, id := range ids {
			r.append(id, "x")
		}
		for _, drain := range []func() error{
			func() error { return r.m.Drain(t.Context()) },
			func() error { return r.texts.Drain(t.Context()) },
			func() error { return r.texts.Drain(t.Context(), append(ids, "bad2", "bad1")...) },
		} {
			err := drain()
			wantErr(t, err, materializer.ErrParked)
			if err == nil || !strings.Contains(err.Error(), "texts/bad1") || !strings.Contains(err.Error(), "texts/bad2") {
				t.Errorf("got %v, want both named", err)
			}
			r.wantClean()
		}
	})
}

func TestDrainEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(h.fold)).start()
		r.append("a", "hold")
		<-h.reached
		wantErr(t, r.m.Drain(within(t, time.Minute)), errTooLong)
		done := make(chan error)
		go func() { done <- r.m.Drain(t.Context()) }()
		settle()
		r.stop(nil)
		close(h.goOn)
		if err := <-done; err != nil {
			wantErr(t, err, materializer.ErrNotRunning) // or it was done just before
		}
	})
}

// kubernetes #119554: Run is stopped while eight wait for the end of everything
// and eight append: all of them return.
func TestKubernetes119554_StopAndDrainFromEverywhere(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, memory.New(nil), materializer.Config{Workers: 3, Batch: 2}, spec()).start()
			done := make(chan error, 16)
			for i := range 8 {
				go func() { done <- r.m.Drain(t.Context()) }()
				go func() {
					r.append(numbered("d", 8)[i], "x")
					done <- r.texts.Drain(t.Context())
				}()
			}
			if err := r.halt(); err != nil {
				t.Error(err)
			}
			for range 16 {
				if err := <-done; err != nil {
					wantErr(t, err, materializer.ErrNotRunning)
				}
			}
		})
	}
}
