package dispatcher

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkCycle is a signal, a take and a done on one goroutine.
func BenchmarkCycle(b *testing.B) {
	for _, documents := range []int{1_000, 100_000} {
		b.Run(fmt.Sprintf("documents=%d", documents), func(b *testing.B) {
			table, keys := newTable(b, 0, 1), keys(documents)
			rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			ctx, buf, results, i := b.Context(), make([]Ticket, 1), make([]Result, 1), 0
			b.ReportAllocs()
			for b.Loop() {
				table.Signal(keys[i])
				if i++; i == len(keys) {
					i = 0
				}
				table.Take(ctx, buf)
				table.Done(buf, results, nil)
			}
		})
	}
}

// BenchmarkCycleDeep is BenchmarkCycle with 50,000 documents always queued.
func BenchmarkCycleDeep(b *testing.B) {
	for _, batch := range []int{1, 16} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			table, keys := newTable(b, 0, 1), keys(100_000)
			rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			table.SignalAll(keys[:50_000])
			ctx, buf, results, i := b.Context(), make([]Ticket, batch), make([]Result, batch), 50_000
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				table.Signal(keys[i])
				if i++; i == len(keys) {
					i = 0
				}
				if n%batch == 0 {
					table.Take(ctx, buf)
					table.Done(buf, results, nil)
				}
			}
		})
	}
}

func BenchmarkSignalQueued(b *testing.B) {
	table := newTable(b, 0, 1)
	table.Signal(a)
	b.ReportAllocs()
	for b.Loop() {
		table.Signal(a)
	}
}

// BenchmarkSignalParallel signals from all processors while two workers drain.
func BenchmarkSignalParallel(b *testing.B) {
	for _, documents := range []int{1, 10, 100_000} {
		b.Run(fmt.Sprintf("documents=%d", documents), func(b *testing.B) {
			table, keys := newTable(b, 200_000, 2), keys(documents)
			done := make(chan struct{})
			for range 2 {
				go func() {
					buf, results := make([]Ticket, 16), make([]Result, 16)
					for {
						n, err := table.Take(b.Context(), buf)
						if err != nil {
							done <- struct{}{}
							return
						}
						table.Done(buf[:n], results, nil)
					}
				}()
			}
			b.Cleanup(func() { <-done; <-done }) // the benchmark's context ends just before
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					table.Signal(keys[rand.IntN(len(keys))])
				}
			})
		})
	}
}

func BenchmarkDrain(b *testing.B) {
	for _, batch := range []int{1, 16} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			const documents = 200_000
			keys := keys(documents)
			for b.Loop() {
				b.StopTimer()
				table := NewTable(documents, 1)
				table.SignalAll(keys)
				b.StartTimer()
				drain(b, table, batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*documents), "ns/document")
		})
	}
}

func BenchmarkBacklog(b *testing.B) {
	const documents = 1_000_000
	bytes := 0.0
	for b.Loop() {
		bytes = backlogBytes(documents)
	}
	b.ReportMetric(bytes, "B/document")
}
