package materializer_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// interrupted is a store whose reading of operations fails now and then, as a cursor does
// that has run out of time.
type interrupted struct {
	store.Backend
	readings atomic.Int64
	failed   atomic.Int64
	healed   atomic.Bool
}

var errCursor = errors.New("the cursor has run out of time")

func (s *interrupted) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	if s.readings.Add(1)%3 == 0 && !s.healed.Load() {
		s.failed.Add(1)
		return nil, errCursor
	}
	return s.Backend.Operations(ctx, ranges, budget)
}

// F19: a reading that fails in the middle of a document is tried again from where the view
// is, and nothing is folded twice.
func TestF19_ReadingThatFailsHalfWayIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &interrupted{Backend: memory.New(nil)}
		body := len(`{"Text":"w000000"}`)
		r := newRig(t, newTap(st), materializer.Config{Workers: 1, Bytes: int64(10 * body)}, spec())
		words := numbered("w", 100)
		r.append("a", words...)
		r.start()
		time.Sleep(time.Hour)
		settle()
		st.healed.Store(true)
		if st.failed.Load() < 3 {
			t.Errorf("%d readings failed of %d", st.failed.Load(), st.readings.Load())
		}
		v, err := r.texts.Get(t.Context(), "a")
		if err != nil || !slices.Equal(v.State.Words, words) || v.Applied != 100 {
			t.Errorf("the view has %d of 100: %v, %v", v.Applied, v.State, err)
		}
	})
}
