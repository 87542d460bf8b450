package worker_test

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/refold-go/refold/worker"
)

// counter is a source that costs next to nothing: it counts down.
type counter struct{ left, back atomic.Int64 }

func (c *counter) Take(_ context.Context, buf []int) (int, error) {
	left := c.left.Add(-int64(len(buf)))
	n := min(int64(len(buf)), left+int64(len(buf)))
	if n <= 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

func (c *counter) Done(items []int, _ []struct{}) { c.back.Add(int64(len(items))) }

// BenchmarkPool is what the pool itself costs for each item.
func BenchmarkPool(b *testing.B) {
	for _, workers := range []int{1, 8} {
		for _, batch := range []int{1, 16} {
			b.Run(fmt.Sprintf("workers=%d/batch=%d", workers, batch), func(b *testing.B) {
				results := make([]struct{}, batch)
				p := &worker.Pool[int, struct{}]{Workers: workers, Batch: batch,
					Work: func(_ context.Context, items []int) []struct{} { return results[:len(items)] }}
				b.ReportAllocs()
				var c counter
				c.left.Store(int64(b.N))
				if err := p.Run(b.Context(), &c); err != nil {
					b.Fatal(err)
				}
				if int(c.back.Load()) != b.N {
					b.Fatalf("%d came back of %d", c.back.Load(), b.N)
				}
			})
		}
	}
}

// BenchmarkPanic is what a run costs that panics.
func BenchmarkPanic(b *testing.B) {
	p := &worker.Pool[int, struct{}]{Workers: 1, Work: func(context.Context, []int) []struct{} { panic("boom") }}
	b.ReportAllocs()
	var c counter
	c.left.Store(int64(b.N))
	if err := p.Run(b.Context(), &c); err != nil {
		b.Fatal(err)
	}
}
