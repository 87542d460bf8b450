package materializer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// kubernetes #141079: two who wait for the end of everything, with 100 documents
// queued and one worker, both return, and all is done.
func TestKubernetes141079_TwoWaitersAndOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1}, specOf(h.fold)).start()
		r.append("busy", "hold")
		<-h.reached
		var token materializer.Token
		for _, id := range numbered("d", 100) {
			token = r.append(id, "x")
		}
		done := make(chan error)
		for range 2 {
			go func() { done <- r.m.Wait(t.Context(), token) }()
		}
		settle()
		if got := r.m.Stats().Queued; got != 100 {
			t.Errorf("%d queued, want 100", got)
		}
		select {
		case err := <-done:
			t.Errorf("Wait returned %v with everything queued", err)
		default:
		}
		close(h.goOn)
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
			r.wantClean()
		}
	})
}

// What came after the token is not waited for.
func TestWaitIsForTheTokenOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2, Batch: 1}, specOf(h.fold)).start()
		r.append("a", "x")
		token := r.append("b", "x")
		settle()
		r.append("a", "hold")
		r.append("c", "x")
		<-h.reached
		if err := r.m.Wait(within(t, time.Minute), token); err != nil {
			t.Error(err)
		}
		if err := r.texts.Wait(within(t, time.Minute), token, "a", "b", "c", "nobody"); err != nil {
			t.Error(err)
		}
		wantErr(t, r.m.Wait(within(t, time.Minute), r.end()), errTooLong)
		wantErr(t, r.texts.Wait(within(t, time.Minute), r.end(), "c", "a"), errTooLong)
		if err := r.texts.Wait(within(t, time.Minute), r.end(), "b", "c"); err != nil {
			t.Error(err)
		}
		close(h.goOn)
	})
}

// A document that is done between being listed and being looked at says nothing
// of those behind it.
func TestWaitWhileTheListGetsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec())
		for _, id := range []string{"a", "b", "c"} {
			r.append(id, "x")
		}
		st.on(atLoad, func() error { return r.commitRaw("a", 1) })
		done := make(chan error, 1)
		go func() { done <- r.m.Wait(t.Context(), r.end()) }()
		settle()
		select {
		case err := <-done:
			t.Errorf("returned %v with b and c dirty", err)
		default:
		}
		r.start()
		settle()
		r.wantClean()
	})
}

// Waiting for a collection is not waiting for the others.
func TestWaitForACollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2, Batch: 1}, specOf(h.fold))
		tallies := registerTally(t, r.m)
		r.start()
		r.append("a", "hold")
		token, err := tallies.Append(t.Context(), "a", struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		<-h.reached
		if err := tallies.Wait(within(t, time.Minute), token); err != nil {
			t.Error(err)
		}
		wantErr(t, r.texts.Wait(within(t, time.Minute), token), errTooLong)
		wantErr(t, r.m.Wait(within(t, time.Minute), token), errTooLong)
		close(h.goOn)
		if err := r.m.Wait(within(t, time.Minute), token); err != nil {
			t.Error(err)
		}
	})
}

// Parked documents are named, after the rest has been waited for.
func TestWaitNamesTheParkedAndWaitsForTheRest(t *testing.T) {
	for _, c := range []struct {
		name string
		wait func(ctx context.Context, r *rig, token materializer.Token) error
	}{
		{"all", func(ctx context.Context, r *rig, token materializer.Token) error { return r.m.Wait(ctx, token) }},
		{"collection", func(ctx context.Context, r *rig, token materializer.Token) error { return r.texts.Wait(ctx, token) }},
		{"documents", func(ctx context.Context, r *rig, token materializer.Token) error {
			return r.texts.Wait(ctx, token, "bad1", "bad2", "good")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHold()
				r := newRig(t, memory.New(nil), materializer.Config{Workers: 4, Batch: 1}, specOf(h.fold)).start()
				token := r.append("bad1", "!permanent")
				r.append("bad2", "!permanent")
				before := r.append("good", "hold")
				<-h.reached
				r.append("later", "!permanent") // beyond the token
				settle()
				done := make(chan error, 1)
				go func() { done <- c.wait(t.Context(), r, before) }()
				time.Sleep(time.Minute)
				select {
				case err := <-done:
					t.Errorf("returned %v before the rest was done", err)
				default:
				}
				close(h.goOn)
				err := <-done
				wantErr(t, err, materializer.ErrParked)
				for _, name := range []string{"texts/bad1", "texts/bad2"} {
					if !strings.Contains(err.Error(), name) {
						t.Errorf("error %q, want %s in it", err, name)
					}
				}
				if strings.Contains(err.Error(), "later") || strings.Contains(err.Error(), "good") {
					t.Errorf("error %q names others", err)
				}
				if err := r.texts.Wait(t.Context(), token, "bad2"); err != nil {
					t.Errorf("a parked document that lacks nothing: %v, want nil", err)
				}
			})
		})
	}
}

func TestWaitNamesFewOfManyParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		for _, id := range numbered("d", 12) {
			r.append(id, "!permanent")
		}
		err := r.m.Wait(t.Context(), r.end())
		wantErr(t, err, materializer.ErrParked)
		if err != nil && !strings.HasSuffix(err.Error(), "texts/d000003, texts/d000004, and 7 more") {
			t.Errorf("error %q, want five names and how many more", err)
		}
	})
}

func TestWaitForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		if err := r.m.Wait(t.Context(), r.end()); err != nil {
			t.Errorf("empty store: %v, want nil", err)
		}
		r.append("a", "x")
		for _, err := range []error{
			r.m.Wait(t.Context(), materializer.Token{}),
			r.texts.Wait(t.Context(), materializer.Token{}),
			r.texts.Wait(t.Context(), materializer.Token{}, "a", "nobody"),
		} {
			if err != nil {
				t.Errorf("zero token: %v, want nil", err)
			}
		}
		wantErr(t, r.texts.Wait(t.Context(), r.end(), ""), materializer.ErrInvalid)
	})
}

// A document that fails for a while is waited for.
func TestWaitOutlastsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures := 5
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			if failures > 0 {
				failures--
				return s, errPlanted
			}
			return fold(s, op)
		})).start()
		if err := r.m.Wait(t.Context(), r.append("a", "x")); err != nil {
			t.Error(err)
		}
		r.wantView("a", "x", 1, 1)
	})
}

func TestWaitEndsWithRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			return s, materializer.RetryAfter(time.Hour, errPlanted)
		})).start()
		done := make(chan error)
		token := r.append("a", "x")
		go func() { done <- r.m.Wait(t.Context(), token) }()
		settle()
		r.stop(errPlanted)
		err := <-done
		wantErr(t, err, materializer.ErrNotRunning)
		wantErr(t, err, errPlanted)
	})
}
