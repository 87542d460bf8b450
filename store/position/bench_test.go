package position_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/refold-go/refold/store/position"
)

func begin(b *testing.B, w position.Writer) (*position.Tracker, *position.Member) {
	b.Helper()
	tr := position.NewTracker(position.Options{})
	m, err := tr.Join(w, 1)
	if err != nil {
		b.Fatal(err)
	}
	return tr, m
}

// BenchmarkReserveFinish reserves and finishes one position while others are open
// behind a slow one. They are finished in the order given; each that is finished
// is replaced, so that as many stay open.
func BenchmarkReserveFinish(b *testing.B) {
	for _, order := range []string{"newest", "oldest", "random"} {
		for _, open := range []int{0, 1000, 100_000} {
			b.Run(fmt.Sprintf("order=%s/open=%d", order, open), func(b *testing.B) {
				tr, m := begin(b, 1)
				slow, err := m.ReserveMany(b.Context(), 1)
				if err != nil {
					b.Fatal(err)
				}
				ps, err := m.ReserveMany(b.Context(), open+1)
				if err != nil {
					b.Fatal(err)
				}
				random := rand.New(rand.NewPCG(1, 2))
				which := make([]int, 1<<16)
				for i := range which {
					which[i] = random.IntN(len(ps))
				}
				b.ReportAllocs()
				i, oldest := 0, 0
				for b.Loop() {
					at := len(ps) - 1
					switch order {
					case "oldest":
						at = oldest
						if oldest++; oldest == len(ps) {
							oldest = 0
						}
					case "random":
						at = which[i%len(which)]
						i++
					}
					if err := m.Finish(ps[at]); err != nil {
						b.Fatal(err)
					}
					if ps[at], err = m.Reserve(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				if s := tr.Stats(); s.Completed != slow[0].Number-1 || s.Open != open+2 || s.Pages > s.Open {
					b.Fatalf("stats are %+v", s)
				}
			})
		}
	}
}

// BenchmarkFinishedBehindASlowOne is the case whose cost is linear in the model:
// nothing is open but one, and ever more is finished behind it. The cost at a
// backlog of 32,000 there was 1083 µs.
func BenchmarkFinishedBehindASlowOne(b *testing.B) {
	for _, backlog := range []int{0, 1000, 32_000, 1_000_000} {
		b.Run(fmt.Sprintf("backlog=%d", backlog), func(b *testing.B) {
			tr, m := begin(b, 1)
			if err := tr.Admit(position.Standing{Writer: 2, Epoch: 1}); err != nil { // another process
				b.Fatal(err)
			}
			step := func() {
				p, err := m.Reserve(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if err := m.Finish(p); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := m.Reserve(b.Context()); err != nil {
				b.Fatal(err)
			}
			for range backlog {
				step()
			}
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			if s := tr.Stats(); s.Pages > 2 || s.Runs > 1 {
				b.Fatalf("stats are %+v", s)
			}
		})
	}
}

// BenchmarkMillionAtRandom reserves a million positions and finishes them in
// random order, with a time for each position.
func BenchmarkMillionAtRandom(b *testing.B) {
	const million = 1_000_000
	for _, remote := range []bool{false, true} {
		b.Run(fmt.Sprintf("remote=%t", remote), func(b *testing.B) {
			order := rand.New(rand.NewPCG(1, 2)).Perm(million)
			for b.Loop() {
				tr, m := begin(b, 1)
				if remote {
					if err := tr.Admit(position.Standing{Writer: 2, Epoch: 1}); err != nil {
						b.Fatal(err)
					}
				}
				ps := make([]position.Position, million)
				for i := range ps {
					var err error
					if ps[i], err = m.Reserve(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				for _, i := range order {
					if err := m.Finish(ps[i]); err != nil {
						b.Fatal(err)
					}
				}
				if got := tr.CompletedBy(1).Number; got != million {
					b.Fatalf("completed is %d", got)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/position")
		})
	}
}

func BenchmarkHear(b *testing.B) {
	for _, writers := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			tr := position.NewTracker(position.Options{})
			var all []position.Standing
			for w := range writers {
				all = append(all, position.Standing{Writer: position.Writer(w + 1), Epoch: 1})
			}
			if err := tr.Admit(all...); err != nil {
				b.Fatal(err)
			}
			n := position.Number(0)
			for b.Loop() {
				n++
				s := position.Standing{Writer: position.Writer(int(n)%writers + 1), Epoch: 1, Completed: n, Written: n}
				if err := tr.Hear(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWait(b *testing.B) {
	tr, m := begin(b, 1)
	for b.Loop() {
		p, err := m.Reserve(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- tr.WaitFor(b.Context(), p) }()
		if err := m.Finish(p); err != nil {
			b.Fatal(err)
		}
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}
