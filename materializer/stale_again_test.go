package materializer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// unacceptable is a store that never accepts a result of one document, as a damaged
// one may.
type unacceptable struct {
	store.Backend
	commits atomic.Int64
}

func (s *unacceptable) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	for i := range commits {
		if commits[i].Key == ownKey("a") {
			s.commits.Add(1)
			commits[i].Epoch++
		}
	}
	return s.Backend.Commit(ctx, commits)
}

// A document whose results are never accepted backs off instead of keeping a worker
// busy, says why, and stops nobody.
func TestResultsThatAreNeverAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &unacceptable{Backend: memory.New(nil)}
		r := newDamagedRig(t, st, materializer.Config{Workers: 1}, spec()).start()
		defer r.halt()
		r.append("a", "x")
		time.Sleep(time.Millisecond) // a few in a row are no fault of the store
		settle()
		if x, err := r.texts.Explain(t.Context(), "a"); err != nil || st.commits.Load() == 0 || st.commits.Load() < 9 && x.StoreError != "" {
			t.Errorf("after %d results explained as %v, %v", st.commits.Load(), x, err)
		}
		time.Sleep(time.Hour)
		settle()
		if n := st.commits.Load(); n < 20 || n > 8+3600 {
			t.Errorf("%d results in an hour", n)
		}
		r.append("b", "x")
		settle()
		if v, err := r.texts.Get(t.Context(), "b"); err != nil || v.Applied != 1 {
			t.Errorf("another document: %+v, %v", v, err)
		}
		if x, err := r.texts.Explain(t.Context(), "a"); err != nil || x.StoreError == "" {
			t.Errorf("explained as %v, %v", x, err)
		}
	})
}
