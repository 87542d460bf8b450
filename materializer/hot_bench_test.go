package materializer_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// BenchmarkHotDocument measures how long others wait for their views while one
// document keeps a worker busy all the time, and while none does, in turn. All
// folds cost the same, so that with one worker, waiting for the hot one's turn
// doubles the time at the most; with two, nothing is lost. Measured: 2.0 and 1.0.
func BenchmarkHotDocument(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			m, err := materializer.New(memory.New(nil), materializer.Config{Workers: workers})
			if err != nil {
				b.Fatal(err)
			}
			docs, err := materializer.Register(m, materializer.Spec[int, int]{
				Name: "docs", Version: 1,
				Fold: func(n int, op materializer.Operation[int]) (int, error) {
					for start := time.Now(); time.Since(start) < time.Duration(op.Body); {
						runtime.Gosched()
					}
					return n + 1, nil
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			runToTheEnd(b, m)
			var with, without []time.Duration
			for b.Loop() {
				without = append(without, waits(b, docs, 200)...)
				ctx, stop := context.WithCancel(b.Context())
				var g sync.WaitGroup
				g.Go(func() {
					for ctx.Err() == nil { // 1 ms of work each ms
						if _, err := docs.Append(ctx, "hot", int(time.Millisecond)); err != nil && ctx.Err() == nil {
							b.Error(err)
						}
						time.Sleep(time.Millisecond)
					}
				})
				with = append(with, waits(b, docs, 200)...)
				stop()
				g.Wait()
				if err := m.Drain(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(with)
			slices.Sort(without)
			b.ReportMetric(float64(without[len(without)/2])/1e3, "µs/alone")
			b.ReportMetric(float64(with[len(with)/2])/1e3, "µs/beside")
			b.ReportMetric(float64(with[len(with)/2])/float64(without[len(without)/2]), "ratio")
			b.ReportMetric(float64(with[len(with)*99/100])/1e3, "µs/beside-p99")
		})
	}
}

// waits appends to documents that cost 1 ms each, with pauses between, and
// returns how long each took to its view.
func waits(b *testing.B, docs *materializer.Collection[int, int], n int) (all []time.Duration) {
	for i := range n {
		id := fmt.Sprint("d", i)
		start := time.Now()
		token, err := docs.Append(b.Context(), id, int(time.Millisecond))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := docs.Get(b.Context(), id, materializer.AtLeast(token)); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(start))
		time.Sleep(time.Millisecond)
	}
	return all
}
