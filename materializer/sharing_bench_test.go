package materializer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// BenchmarkLease is what sharing a store costs a run, with nobody there to share it
// with. backlog: 20,000 documents of one operation are folded, so that hands are full.
// one: one more operation on one document, from the append to the view.
func BenchmarkLease(b *testing.B) {
	for _, name := range []string{"alone", "shared"} {
		b.Run("backlog/"+name, func(b *testing.B) {
			const documents = 20_000
			var took time.Duration
			for range b.N {
				path := filepath.Join(b.TempDir(), "sums.db")
				s := openSharing(b, path, name == "shared")
				s.fillBacklog(b, documents)
				begun := time.Now()
				stop := s.run(b)
				if err := s.m.Drain(context.Background()); err != nil {
					b.Fatal(err)
				}
				took += time.Since(begun)
				stop()
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/documents, "ns/run")
		})
		b.Run("one/"+name, func(b *testing.B) {
			s := openSharing(b, filepath.Join(b.TempDir(), "sums.db"), name == "shared")
			defer s.run(b)()
			for b.Loop() {
				token, err := s.col.Append(context.Background(), "d", delta{By: 1, Note: note})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.col.Get(context.Background(), "d", materializer.AtLeast(token)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
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
