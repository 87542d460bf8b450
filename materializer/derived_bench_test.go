package materializer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// openMany makes a materializer on SQLite with a source, of which the last operation is the view.
func openMany(b *testing.B) (*materializer.Materializer, *materializer.Collection[delta, delta]) {
	b.Helper()
	st, err := sqlite.Open(filepath.Join(b.TempDir(), "many.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		b.Fatal(err)
	}
	last, err := materializer.Register(m, materializer.Spec[delta, delta]{
		Name: "sources", Version: 1,
		Fold: func(_ delta, op materializer.Operation[delta]) (delta, error) { return op.Body, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	return m, last
}

func runMany(b *testing.B, m *materializer.Materializer) {
	b.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
}

// BenchmarkFanOut is one more operation on a source that so many derived documents have
// read, until all of them are built again: each build reads the source. per-document is
// what one of them costs.
func BenchmarkFanOut(b *testing.B) {
	for _, dependents := range []int{1, 1_000, 100_000} {
		b.Run(fmt.Sprint(dependents), func(b *testing.B) {
			m, sources := openMany(b)
			_, err := materializer.ByReads(m, materializer.Reads[int]{
				Name: "readers", Version: 1,
				Sources: []materializer.Concern{materializer.Concerns(sources, func(_ string, d delta) []string {
					if d.By > 0 {
						return nil // who has read it is told
					}
					return numbered("reader", dependents)
				})},
				Build: func(r *materializer.Reader, _ string) (int, error) {
					d, err := materializer.Read(r, sources, "one")
					return int(d.By), err
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			runMany(b, m)
			set := func(by int64) {
				if _, err := sources.Append(context.Background(), "one", delta{By: by}); err != nil {
					b.Fatal(err)
				}
				if err := m.Drain(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			set(0)
			by := int64(0)
			for b.Loop() {
				by++
				set(by)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*dependents), "ns/document")
		})
	}
}

// BenchmarkContribution is one more operation on one of so many sources that contribute to
// one derived document, until it is in that. It should not matter how many.
func BenchmarkContribution(b *testing.B) {
	for _, contributors := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(contributors), func(b *testing.B) {
			m, sources := openMany(b)
			sums, err := materializer.ByContributions(m, materializer.Contributions[int64, int64]{
				Name: "sums", Version: 1,
				Sources: []materializer.Source[int64]{materializer.From(sources, func(_ string, d delta, emit func(string, int64)) error {
					emit("sum", d.By)
					return nil
				})},
				Add:    func(sum int64, _ materializer.Contributor, c int64) (int64, error) { return sum + c, nil },
				Remove: func(sum int64, _ materializer.Contributor, c int64) (int64, error) { return sum - c, nil },
			})
			if err != nil {
				b.Fatal(err)
			}
			runMany(b, m)
			ids := numbered("source", contributors)
			for i := 0; i < len(ids); i += 1000 {
				var changes []materializer.Change
				for _, id := range ids[i:min(i+1000, len(ids))] {
					changes = append(changes, sources.Change(id, delta{By: 1}))
				}
				if _, err := m.Append(context.Background(), changes...); err != nil {
					b.Fatal(err)
				}
			}
			if err := m.Drain(context.Background()); err != nil {
				b.Fatal(err)
			}
			by := int64(1)
			for b.Loop() {
				by++
				token, err := sources.Append(context.Background(), ids[len(ids)/2], delta{By: by})
				if err != nil {
					b.Fatal(err)
				}
				if v, err := sums.Get(context.Background(), "sum", materializer.AtLeast(token)); err != nil || v.State != int64(contributors-1)+by {
					b.Fatalf("%+v, %v", v, err)
				}
			}
		})
	}
}
