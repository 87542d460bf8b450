package materializer_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// newTallies is a running materializer of what costs least, so that its own cost
// is what is measured.
func newTallies(b *testing.B) (*materializer.Materializer, *materializer.Collection[int, struct{}]) {
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		b.Fatal(err)
	}
	c := registerTally(b, m)
	runToTheEnd(b, m)
	return m, c
}

// One append and the wait for its view: the way there and back, in 40
// allocations.
func BenchmarkMemoryAppendToView(b *testing.B) {
	_, c := newTallies(b)
	b.ReportAllocs()
	for b.Loop() {
		token, err := c.Append(b.Context(), "a", struct{}{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Get(b.Context(), "a", materializer.AtLeast(token)); err != nil {
			b.Fatal(err)
		}
	}
}

// Many appends by many, and one wait at the end: an append and its share of a run
// are 4 allocations on many documents, and 2 on one.
func BenchmarkMemoryAppendsToViews(b *testing.B) {
	for _, documents := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("documents=%d", documents), func(b *testing.B) {
			m, c := newTallies(b)
			ids := numbered("d", documents)
			var next atomic.Int64
			var last atomic.Pointer[materializer.Token]
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					token, err := c.Append(b.Context(), ids[int(next.Add(1))%documents], struct{}{})
					if err != nil {
						b.Error(err)
						return
					}
					last.Store(&token)
				}
			})
			if err := m.Wait(b.Context(), *last.Load()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			stats := m.Stats()
			b.ReportMetric(float64(stats.Operations)/float64(max(stats.Runs, 1)), "operations/run")
		})
	}
}

// What is left from earlier is taken up in large batches.
func BenchmarkMemoryCatchUp(b *testing.B) {
	const documents, operations = 1000, 10
	for b.Loop() {
		b.StopTimer()
		m, err := materializer.New(memory.New(nil), materializer.Config{})
		if err != nil {
			b.Fatal(err)
		}
		c := registerTally(b, m)
		var token materializer.Token
		for _, id := range numbered("d", documents) {
			if token, err = c.Append(b.Context(), id, make([]struct{}, operations)...); err != nil {
				b.Fatal(err)
			}
		}
		r := &rig{m: m}
		b.StartTimer()
		r.start()
		if err := m.Wait(b.Context(), token); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		r.halt()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.N*documents*operations)/b.Elapsed().Seconds(), "operations/s")
}

// A read without a token costs a load and a decode, in 3 allocations.
func BenchmarkMemoryGet(b *testing.B) {
	_, c := newTallies(b)
	token, err := c.Append(b.Context(), "a", struct{}{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Get(b.Context(), "a", materializer.AtLeast(token)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Get(b.Context(), "a"); err != nil {
			b.Fatal(err)
		}
	}
}
