package materializer_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// The run in hand ends, what is queued stays in the store, reads and appends go
// on, and readers that want to be up to date wait.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Batch: 1}, specOf(h.fold)).start()
		r.append("busy", "hold")
		<-h.reached
		for _, id := range numbered("d", 10) {
			r.append(id, "x")
		}
		settle()
		if err := r.texts.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(h.goOn)
		settle()
		r.wantView("busy", "hold", 1, 1)
		r.wantView("d000003", "", 0, 1)
		if got := r.m.Stats(); got.Queued+got.Running+got.Delayed != 0 {
			t.Errorf("%+v, want nothing in the table", got)
		}
		token := r.append("a", "x")
		done := make(chan error, 3)
		go func() {
			_, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
			done <- err
		}()
		go func() { done <- r.m.Drain(t.Context()) }()
		go func() { done <- r.texts.Drain(t.Context(), "d000003", "a") }()
		time.Sleep(time.Hour)
		settle()
		if len(done) > 0 {
			t.Errorf("a reader of a paused collection returned %v", <-done)
		}
		for id, want := range map[string]materializer.State{"a": materializer.StatePaused, "busy": materializer.StateIdle} {
			if x, err := r.texts.Explain(t.Context(), id); err != nil || x.State != want {
				t.Errorf("%s is %s, %v, want %s", id, x.State, err, want)
			}
		}
		health, err := r.m.Health(t.Context())
		if err != nil || health.Paused != 11 || health.Dirty != 0 || !health.Collections[0].Paused || health.Oldest.ID != "" {
			t.Errorf("health %+v, %v, want 11 paused documents", health, err)
		}
		if err := r.texts.Unpause(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		settle()
		r.wantClean()
	})
}

// It survives a restart, and works on a collection that is not registered.
func TestPauseSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		r := newRig(t, st, materializer.Config{}, spec()).start()
		if err := r.m.Pause(t.Context(), "texts"); err != nil {
			t.Fatal(err)
		}
		r.append("a", "x")
		r.halt()
		next := newRig(t, st, materializer.Config{}, spec()).start()
		time.Sleep(time.Hour)
		settle()
		next.wantView("a", "", 0, 1)
		if err := next.texts.Unpause(t.Context()); err != nil {
			t.Fatal(err)
		}
		settle()
		next.wantView("a", "x", 1, 1)
		wantErr(t, next.m.Pause(t.Context(), "nobody"), materializer.ErrNotFound)
		wantErr(t, next.m.Pause(t.Context(), "No Name"), materializer.ErrInvalid)
	})
}

// The collection goes on at each step of the run that finds it paused: nothing
// is left behind.
func TestUnpauseWhileDocumentsAreTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 4, Batch: 2}, spec()).start()
		for i := range 300 {
			if err := r.texts.Pause(t.Context()); err != nil {
				t.Fatal(err)
			}
			id := numbered("d", 10)[i%10]
			token := r.append(id, "x")
			if err := r.texts.Unpause(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i%7 == 0 {
				if _, err := r.texts.Get(within(t, time.Second), id, materializer.AtLeast(token)); err != nil {
					t.Fatal(err)
				}
			}
		}
		settle()
		r.wantClean()
	})
}

// Another process pauses: a store that can be followed tells of that too.
func TestPauseElsewhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	r := newRig(t, reopenSQLite(t, path), materializer.Config{}, spec()).start()
	r.append("a", "x")
	if err := r.m.Drain(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	other := reopenSQLite(t, path)
	if err := other.Pause(t.Context(), "texts", true); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		r.append("a", "y")
		x, err := r.texts.Explain(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if x.State == materializer.StatePaused {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute it is %s", x.State)
		}
	}
	if err := other.Pause(t.Context(), "texts", false); err != nil {
		t.Fatal(err)
	}
	if err := r.m.Drain(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
}
