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

func TestParkedAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			if mended.Load() {
				return plain(s, op)
			}
			return fold(s, op)
		})).start()
		parked := func() (all []string) {
			for p, err := range r.texts.Parked(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, fmt.Sprintf("%s %d of %d at %d after %d: %s", p.ID, p.Applied, p.Head, p.Seq, p.Attempts, p.Error))
			}
			return all
		}
		r.append("c", "!permanent")
		r.append("b", "x")
		r.append("a", "x", "!permanent", "y")
		settle()
		r.append("c", "z")
		settle()
		want := []string{"a 1 of 3 at 2 after 1: wrapped: planted failure", "c 0 of 2 at 1 after 1: wrapped: planted failure"}
		if got := parked(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}

		// Resumed too early it parks again, and tells who waits.
		if n, err := r.texts.Resume(t.Context(), "a"); n != 1 || err != nil {
			t.Errorf("resumed %d, %v, want 1, nil", n, err)
		}
		_, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(r.end()))
		wantErr(t, err, materializer.ErrParked)
		r.wantParked("a", 2, 1, errPlanted.Error())

		mended.Store(true)
		if n, err := r.texts.Resume(t.Context(), "b", "c", "nobody"); n != 1 || err != nil {
			t.Errorf("resumed %d, %v, want 1, nil", n, err)
		}
		settle()
		r.wantView("c", "!permanent z", 2, 2)
		if got := parked(); fmt.Sprint(got) != fmt.Sprint(want[:1]) {
			t.Errorf("got %q, want %q", got, want[:1])
		}
		if n, err := r.texts.Resume(t.Context()); n != 0 || err != nil {
			t.Errorf("resumed %d of none, %v", n, err)
		}
		for range r.texts.Parked(t.Context()) {
			break
		}
		r.st.Close()
		for _, err := range r.texts.Parked(t.Context()) {
			wantErr(t, err, materializer.ErrClosed)
		}
		_, err = r.texts.Resume(t.Context(), "a")
		wantErr(t, err, materializer.ErrClosed)
	})
}

func TestParkedHasTheStackOfAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec()
		s.Retry.Attempts = 1
		r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
		r.append("a", "!panic")
		settle()
		for p, err := range r.texts.Parked(t.Context()) {
			if err != nil || p.Error != "panic: planted panic" || !strings.Contains(p.Stack, "helper_test.go") {
				t.Errorf("got %+v, %v, want the panic with its stack", p, err)
			}
		}
	})
}

// Collections that nobody registers are listed, and hold up nobody.
func TestUnregisteredCollections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		for _, name := range []string{"orphans", "texts"} {
			_, err := st.Append(t.Context(), []store.Append{{Key: store.Key{Collection: name, ID: "a"}, Entries: []store.Entry{{Body: []byte(`{"Text":"x"}`)}}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := st.Register(t.Context(), "ghosts", 7); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, st, materializer.Config{}, spec()).start()
		got, err := r.m.Unregistered(t.Context())
		if want := "[{ghosts 7 false 0s false []} {orphans 0 false 0s false []}]"; err != nil || fmt.Sprint(got) != want {
			t.Errorf("got %v, %v, want %s", got, err, want)
		}
		if err := r.m.Wait(within(t, time.Minute), r.end()); err != nil {
			t.Error(err)
		}
		r.wantView("a", "x", 1, 1)
		st.Close()
		_, err = r.m.Unregistered(t.Context())
		wantErr(t, err, materializer.ErrClosed)
	})
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Batch: 1}, specOf(h.fold)).start()
		settle() // or what is appended now is both read and heard of
		if got := r.m.Stats(); got != (materializer.Stats{}) {
			t.Errorf("at first %+v, want nothing", got)
		}
		r.append("a", "hold")
		<-h.reached
		r.append("a", "x", "y")
		r.append("a", "z")
		r.append("b", "x", "!permanent")
		r.append("c", "!fail")
		settle()
		want := materializer.Stats{Queued: 2, Running: 1, Signals: 5, Absorbed: 2}
		if got := r.m.Stats(); got != want {
			t.Errorf("in the fold %+v, want %+v", got, want)
		}
		close(h.goOn)
		settle()
		want = materializer.Stats{
			Delayed: 1, Signals: 5, Absorbed: 2, Requeues: 1,
			Runs: 4, Operations: 5, Failed: 2, Parked: 1,
		}
		if got := r.m.Stats(); got != want {
			t.Errorf("at the end %+v, want %+v", got, want)
		}
	})
}
