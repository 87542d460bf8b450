package materializer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// BenchmarkLease is what sharing a store costs a run, with nobody there to share it
// with, by rounds of both in turn. backlog: 20,000 documents of one operation are
// folded, so that hands are full. one: 100 times one more operation on a document, from
// the append to the view.
func BenchmarkLease(b *testing.B) {
	const documents, times = 20_000, 100
	compare := func(b *testing.B, n int, round func(b *testing.B, shared bool) time.Duration) {
		var alone, shared []float64
		for range b.N {
			alone = append(alone, float64(round(b, false))/float64(n))
			shared = append(shared, float64(round(b, true))/float64(n))
		}
		slices.Sort(alone)
		slices.Sort(shared)
		b.ReportMetric(alone[len(alone)/2], "alone-ns/run")
		b.ReportMetric(shared[len(shared)/2], "shared-ns/run")
		b.ReportMetric(shared[len(shared)/2]/alone[len(alone)/2], "shared/alone")
	}
	b.Run("backlog", func(b *testing.B) {
		compare(b, documents, func(b *testing.B, shared bool) time.Duration {
			s := openSharing(b, filepath.Join(b.TempDir(), "sums.db"), shared)
			s.fillBacklog(b, documents)
			begun := time.Now()
			stop := s.run(b)
			if err := s.m.Drain(context.Background()); err != nil {
				b.Fatal(err)
			}
			took := time.Since(begun)
			stop()
			return took
		})
	})
	b.Run("one", func(b *testing.B) {
		compare(b, times, func(b *testing.B, shared bool) time.Duration {
			s := openSharing(b, filepath.Join(b.TempDir(), "sums.db"), shared)
			stop := s.run(b)
			begun := time.Now()
			for range times {
				token, err := s.col.Append(context.Background(), "d", delta{By: 1, Note: note})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.col.Get(context.Background(), "d", materializer.AtLeast(token)); err != nil {
					b.Fatal(err)
				}
			}
			took := time.Since(begun)
			stop()
			return took
		})
	})
}

func openSharing(b *testing.B, path string, shared bool) *sums {
	b.Helper()
	st, err := sqlite.Open(path, nil)
	if err != nil {
		b.Fatal(err)
	}
	m, err := materializer.New(st, materializer.Config{Shared: shared})
	if err != nil {
		b.Fatal(err)
	}
	col, err := materializer.Register(m, materializer.Spec[sum, delta]{Name: "sums", Version: 1, Fold: foldSum})
	if err != nil {
		b.Fatal(err)
	}
	return &sums{st, m, col}
}

// fillBacklog appends one operation to each of so many documents.
func (s *sums) fillBacklog(b *testing.B, documents int) {
	b.Helper()
	for first := 0; first < documents; first += 1000 {
		var batch []materializer.Change
		for i := range 1000 {
			batch = append(batch, s.col.Change(fmt.Sprintf("document-%06d", first+i), delta{By: 1, Note: note}))
		}
		if _, err := s.m.Append(context.Background(), batch...); err != nil {
			b.Fatal(err)
		}
	}
}
