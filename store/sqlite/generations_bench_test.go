package sqlite

import (
	"fmt"
	"math/rand/v2"
	"testing"

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
