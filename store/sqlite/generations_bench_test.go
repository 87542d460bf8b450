package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// BenchmarkFill makes the rows of a new generation of 50,000 documents; an operation
// is a document. others is how many documents of another collection lie between two.
func BenchmarkFill(b *testing.B) {
	const documents = 50_000
	for _, others := range []int{0, 4} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			s := fresh(b, nil)
			if err := s.Register(b.Context(), "notes", 1); err != nil {
				b.Fatal(err)
			}
			for i := 0; i < documents; i += 500 {
				var appends []store.Append
				for j := range 500 {
					appends = append(appends, store.Append{Key: benchKey(i + j), Entries: benchEntries(1)})
					for o := range others {
						k := store.Key{Collection: "tasks", ID: fmt.Sprint(i+j, "-", o)}
						appends = append(appends, store.Append{Key: k, Entries: benchEntries(1)})
					}
				}
				mustAppend(b, s, appends)
			}
			version := 1
			for b.Loop() {
				version++
				if err := s.Register(b.Context(), "notes", version); err != nil {
					b.Fatal(err)
				}
				for more := true; more; {
					var err error
					if more, err = s.Fill(b.Context(), fmt.Sprint("notes@", version)); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				for more := true; more; { // the one before it
					var err error
					if more, err = s.Sweep(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/documents, "ns/document")
		})
	}
}

// BenchmarkAppendBeside appends to new documents while so many generations live
// beside the one that is served: each gets a row.
func BenchmarkAppendBeside(b *testing.B) {
	for _, beside := range []int{0, 1, 2} {
		b.Run(fmt.Sprintf("generations=%d", beside), func(b *testing.B) {
			s := fresh(b, nil)
			ctx := b.Context()
			if err := s.Register(ctx, "notes", 1); err != nil {
				b.Fatal(err)
			}
			for i := range beside {
				name := fmt.Sprint("notes@", i+2)
				if err := s.Register(ctx, "notes", i+2); err != nil {
					b.Fatal(err)
				}
				if i == beside-1 {
					break // it is being built, another one is kept
				}
				if o, err := s.Switch(ctx, name, store.SwitchTerms{}); err != nil || o.Why != store.Unhindered {
					b.Fatal(o, err)
				}
			}
			together(b, 64, func(r *rand.Rand) error {
				_, err := s.Append(ctx, []store.Append{{Key: benchKey(r.IntN(1 << 30)), Entries: benchEntries(1)}})
				return err
			})
		})
	}
}

// BenchmarkAppendDuringFill has 4 writers append while the rows of a new generation of
// 100,000 documents are made, again and again, for a share of the time, against nobody
// making any.
func BenchmarkAppendDuringFill(b *testing.B) {
	const documents = 100_000
	for _, share := range []float64{0, 0.25, 1} {
		b.Run(fmt.Sprintf("share=%v", share), func(b *testing.B) {
			s := fresh(b, nil)
			ctx := b.Context()
			if err := s.Register(ctx, "notes", 1); err != nil {
				b.Fatal(err)
			}
			for i := 0; i < documents; i += 1000 {
				var appends []store.Append
				for j := range 1000 {
					appends = append(appends, store.Append{Key: benchKey(i + j), Entries: benchEntries(1)})
				}
				mustAppend(b, s, appends)
			}
			done := make(chan struct{})
			var fill sync.WaitGroup
			fills := 0
			if share > 0 {
				fill.Go(func() {
					for version := 2; ; version++ {
						err := s.Register(ctx, "notes", version)
						for more := true; more && err == nil; fills++ {
							begun := time.Now()
							if more, err = s.Fill(ctx, fmt.Sprint("notes@", version)); err != nil {
								break
							}
							select {
							case <-done:
								return
							case <-time.After(time.Duration(float64(time.Since(begun)) * (1 - share) / share)):
							}
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			var mu sync.Mutex
			var took []time.Duration
			together(b, 4, func(r *rand.Rand) error {
				begun := time.Now()
				_, err := s.Append(ctx, []store.Append{{Key: benchKey(r.IntN(documents)), Entries: benchEntries(1)}})
				mu.Lock()
				defer mu.Unlock()
				took = append(took, time.Since(begun))
				return err
			})
			b.StopTimer()
			close(done)
			fill.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(fills), "slices")
		})
	}
}
