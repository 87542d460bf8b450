package materializer

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestBucketsFollowEachOther(t *testing.T) {
	for b := range bucketCount {
		if got := bucketOf(lowest(b)); got != b {
			t.Errorf("the lowest of bucket %d, %d, is in bucket %d", b, lowest(b), got)
		}
		if b > 0 {
			if got := bucketOf(lowest(b) - 1); got != b-1 {
				t.Errorf("%d is in bucket %d, want %d", lowest(b)-1, got, b-1)
			}
		}
	}
	for _, n := range []int64{math.MinInt64, -1, 0} {
		if got := bucketOf(n); got != 0 {
			t.Errorf("%d is in bucket %d, want 0", n, got)
		}
	}
	if got := bucketOf(math.MaxInt64); got != bucketCount-1 {
		t.Errorf("the largest number is in bucket %d, want the last one", got)
	}
}

func TestQuantiles(t *testing.T) {
	var h histogram
	empty := h.snapshot()
	if empty.Quantile(0.5) != 0 || empty.Mean() != 0 {
		t.Error("an empty histogram has quantiles")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var all []int64
	for range 10_000 {
		n := int64(math.Exp(random.Float64() * 25))
		all = append(all, n)
		h.observe(n)
	}
	slices.Sort(all)
	s := h.snapshot()
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.999, 1, 7, -1} {
		exact := all[min(max(int(q*float64(len(all))), 0), len(all)-1)]
		if got := s.Quantile(q); math.Abs(float64(got-exact)) > float64(exact)/4 {
			t.Errorf("quantile %v is %d, want %d to within a quarter", q, got, exact)
		}
	}
	h.observe(5)
	later := h.snapshot()
	if d := later.Minus(&s); d.Count != 1 || d.Sum != 5 || d.Quantile(0.5) != 5 {
		t.Errorf("what came between is %d numbers with the sum %d, want one 5", d.Count, d.Sum)
	}
}

func TestObservingAllocatesNothing(t *testing.T) {
	var h histogram
	if n := testing.AllocsPerRun(100, func() { h.observe(12345) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHistogramObserve(b *testing.B) {
	var h histogram
	b.RunParallel(func(pb *testing.PB) {
		for n := int64(0); pb.Next(); n++ {
			h.observe(n)
		}
	})
}
