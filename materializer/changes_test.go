package materializer_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
	"go.uber.org/goleak"
)

// next returns the next change as text.
func next(t *testing.T, pull func() (materializer.View[text], error, bool)) string {
	t.Helper()
	v, err, ok := pull()
	if err != nil || !ok {
		t.Errorf("the stream ended: %v, %v", err, ok)
	}
	return fmt.Sprintf("%s %s %d", v.ID, v.State, v.Applied)
}

func TestChangesAreLiveAndLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.append("before", "x")
		settle()
		changes := r.texts.Changes(t.Context()) // from here on, though nobody reads yet
		for _, w := range []string{"one", "two", "three"} {
			r.append("a", w)
			settle()
		}
		r.append("b", "x")
		settle()
		pull, stop := iter.Pull2(changes)
		defer stop()
		if got, want := next(t, pull)+", "+next(t, pull), "a one two three 3, b x 1"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		go func() {
			time.Sleep(time.Hour)
			r.append("a", "four")
		}()
		if got, want := next(t, pull), "a one two three four 4"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// Parking and trying are changes of a document too; those of other collections
// are not.
func TestChangesOfAFailureAndOfOtherCollections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		tallies := registerTally(t, r.m)
		r.start()
		pull, stop := iter.Pull2(r.texts.Changes(t.Context()))
		defer stop()
		settle()
		go func() {
			tallies.Append(t.Context(), "a", struct{}{})
			time.Sleep(time.Second)
			r.append("a", "!permanent")
		}()
		v, err, _ := pull()
		if err != nil || v.ID != "a" || !v.Parked || v.Applied != 0 || v.Head != 1 {
			t.Errorf("got %+v, %v, want a, parked at 0 of 1", v, err)
		}
	})
}

func TestChangesEnd(t *testing.T) {
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errPlanted)
	for _, c := range []struct {
		name    string
		ctx     context.Context
		do      func(r *rig)
		targets []error
	}{
		{"lag", context.Background(), func(r *rig) {
			for _, id := range numbered("d", 5) {
				r.append(id, "x")
				settle()
			}
		}, []error{materializer.ErrLagged}},
		{"end of Run", context.Background(), func(r *rig) { r.stop(errPlanted) }, []error{materializer.ErrNotRunning, errPlanted}},
		{"after Run", context.Background(), nil, []error{materializer.ErrNotRunning}},
		{"context", ended, func(*rig) {}, []error{errPlanted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, memory.New(nil), materializer.Config{Announcements: 4}, spec()).start()
				if c.do == nil {
					r.halt()
					c.do = func(*rig) {}
				}
				changes := r.texts.Changes(c.ctx)
				c.do(r)
				n := 0
				for v, err := range changes {
					if n++; n > 1 || err == nil {
						t.Fatalf("element %d is %+v, %v, want one, an error", n, v, err)
					}
					for _, target := range c.targets {
						wantErr(t, err, target)
					}
				}
				if n != 1 {
					t.Errorf("%d elements, want 1", n)
				}
			})
		})
	}
}

// The end of the context wakes a reader that waits for a change.
func TestChangesEndWithTheContextWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		for _, err := range r.texts.Changes(within(t, time.Minute)) {
			wantErr(t, err, errTooLong)
		}
	})
}

// A stream can be read once. The second time it does not hang.
func TestChangesReadTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		changes := r.texts.Changes(within(t, time.Minute))
		r.append("a", "x")
		for range changes {
			break
		}
		for v, err := range changes {
			if wantErr(t, err, materializer.ErrInvalid); err == nil {
				t.Fatalf("the second time: got %+v", v)
			}
		}
	})
}

// Leaving the loop releases all that the stream has, and so does the end of the
// context where nobody ever loops.
func TestChangesReleaseEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		settle()
		before := goleak.IgnoreCurrent()
		ctx, cancel := context.WithCancel(t.Context())
		for range 10 {
			changes := r.texts.Changes(ctx)
			r.append("a", "x")
			for _, err := range changes {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			r.texts.Changes(ctx)
		}
		cancel()
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
}
