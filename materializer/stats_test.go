package materializer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

func TestHistograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Batch: 1}, specOf(func(s text, op operation) (text, error) {
			time.Sleep(10 * time.Millisecond)
			return plain(s, op)
		}))
		r.append("a", "x", "y")
		r.append("b", "x", "y")
		r.append("c", "x")
		time.Sleep(time.Second)
		r.start()
		settle()
		time.Sleep(time.Second)
		h := r.m.Histograms()
		about := func(what string, got int64, want time.Duration) {
			t.Helper()
			if d := time.Duration(got); d < want*3/4 || d > want*5/4 {
				t.Errorf("%s: %v, want %v to within a quarter", what, d, want)
			}
		}
		if h.Run.Count != 3 || h.Operations.Count != 3 || h.Operations.Sum != 5 || h.Fresh.Count != 3 || h.Wait.Count != 1 {
			t.Errorf("counts of run %d, operations %d (%d in all), fresh %d, wait %d, want 3, 3 (5), 3, 1",
				h.Run.Count, h.Operations.Count, h.Operations.Sum, h.Fresh.Count, h.Wait.Count)
		}
		about("the median run", h.Run.Quantile(0.5), 20*time.Millisecond)
		about("the shortest run", h.Run.Quantile(0), 10*time.Millisecond)
		about("from append to view", h.Fresh.Quantile(0.5), 1040*time.Millisecond)
		if got := h.Operations.Quantile(0.5); got != 2 {
			t.Errorf("the median run has %d operations, want 2", got)
		}
	})
}
