package sqlite

import (
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
)

// derivedBench makes tags of notes, with so many notes that have views.
func derivedBench(b *testing.B, notes int) *Store {
	b.Helper()
	s := fresh(b, nil)
	if err := s.Register(b.Context(), "notes", 1); err != nil {
		b.Fatal(err)
	}
	if err := s.Derive(b.Context(), store.Derivation{Name: "tags", Version: 1, Sources: []string{"notes"}, Deltas: true}); err != nil {
		b.Fatal(err)
	}
	for i := 0; i < notes; i += 1000 {
		var appends []store.Append
		for j := i; j < min(i+1000, notes); j++ {
			appends = append(appends, one(fmt.Sprint("n", j), "1")...)
		}
		mustAppend(b, s, appends)
	}
	for foldSome(b, s, "notes", 1000) > 0 {
	}
	return s
}

// effectsOf commits a round of a document of the mapping, and returns in how many slices.
func effectsOf(b *testing.B, s *Store, id string, pairs []store.Pair) (slices int) {
	b.Helper()
	for {
		d := loadNamed(b, s, "tags<notes", id)
		if !d.Dirty() {
			return slices
		}
		e := &store.Effects{From: d.Round}
		if e.From.To == 0 {
			e.From.To = d.Head
		}
		for _, p := range pairs {
			if p.Key > e.From.After {
				e.Pairs = append(e.Pairs, p)
			}
		}
		if len(e.Pairs) > store.MaxEffects {
			e.Pairs = e.Pairs[:store.MaxEffects]
			e.Upto = e.Pairs[len(e.Pairs)-1].Key
		}
		commitOne(b, s, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: e.From.To, Effects: e})
		slices++
	}
}

// change gives a note another view, which tells the mapping.
func change(b *testing.B, s *Store, id string, view string) {
	b.Helper()
	mustAppend(b, s, one(id, "x"))
	d := load(b, s, id)
	commitOne(b, s, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte(view)})
}

// BenchmarkEffects is one change of a source that contributes to n documents: to all of
// them another body, or to one of them.
func BenchmarkEffects(b *testing.B) {
	for _, n := range []int{1, 1000, 10_000} {
		for _, all := range []bool{true, false} {
			b.Run(fmt.Sprintf("keys=%d,all=%t", n, all), func(b *testing.B) {
				s := derivedBench(b, 1)
				pairs := make([]store.Pair, n)
				for i := range pairs {
					pairs[i] = store.Pair{Key: fmt.Sprintf("%06d", i), Body: []byte("0")}
				}
				effectsOf(b, s, "n0", pairs)
				slices := 0
				for i := 0; b.Loop(); i++ {
					b.StopTimer()
					change(b, s, "n0", fmt.Sprint(i))
					for j := range pairs {
						if all || j == n/2 {
							pairs[j].Body = fmt.Append(nil, i+1)
						}
					}
					b.StartTimer()
					slices += effectsOf(b, s, "n0", pairs)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(slices), "µs/slice")
			})
		}
	}
}

// BenchmarkContribution is one change of one of n contributions to a document: what the
// store does for it, and reading the delta. It does not depend on n.
func BenchmarkContribution(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		if n > 1000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("of=%d", n), func(b *testing.B) {
			s := derivedBench(b, n)
			pair := func(i int) []store.Pair { return []store.Pair{{Key: "t", Body: fmt.Append(nil, i)}} }
			for more := true; more; {
				var commits []store.Commit
				for r, err := range s.Runnable(b.Context(), []string{"tags<notes"}) {
					if err != nil {
						b.Fatal(err)
					}
					commits = append(commits, store.Commit{Key: r.Key, Applied: 1, Epoch: loadNamed(b, s, "tags<notes", r.Key.ID).Epoch,
						Effects: &store.Effects{From: store.Round{To: 1}, Pairs: pair(0)}})
					if len(commits) == 1000 {
						break
					}
				}
				if more = len(commits) > 0; more {
					if _, err := s.Commit(b.Context(), commits); err != nil {
						b.Fatal(err)
					}
				}
			}
			made := func() {
				d := loadNamed(b, s, "tags", "t")
				if _, err := s.Operations(b.Context(), []store.Range{{Key: d.Key, From: d.Applied + 1}}, store.Budget{}); err != nil {
					b.Fatal(err)
				}
				commitOne(b, s, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: fmt.Append(nil, d.Head)})
			}
			made()
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				id := fmt.Sprint("n", i%n)
				change(b, s, id, fmt.Sprint("view ", i))
				b.StartTimer()
				effectsOf(b, s, id, pair(i+1))
				made()
			}
		})
	}
}

// BenchmarkReads is storing a document that has read n others, all of which it had not
// read before.
func BenchmarkReads(b *testing.B) {
	for _, n := range []int{100, 1000, store.MaxReads} {
		b.Run(fmt.Sprintf("reads=%d", n), func(b *testing.B) {
			s := derivedBench(b, 1)
			reads := make([]store.Read, n)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				change(b, s, "n0", fmt.Sprint("view ", i))
				effectsOf(b, s, "n0", []store.Pair{{Key: "t", Body: fmt.Append(nil, i)}})
				for j := range reads {
					reads[j].Key = store.Key{Collection: "notes", ID: fmt.Sprintf("%d of %d", j, i)}
				}
				d := loadNamed(b, s, "tags", "t")
				b.StartTimer()
				commitOne(b, s, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: fmt.Append(nil, i), Reads: reads})
			}
		})
	}
}
