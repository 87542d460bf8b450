package position_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/refold-go/refold/store/position"
	"golang.org/x/sync/errgroup"
)

// table is a table with a sequence: rows are visible when they are committed.
type table struct {
	counter atomic.Int64
	mu      sync.Mutex
	rows    map[position.Position]bool
}

func (l *table) allocate(_ context.Context, n int, _ position.Stored) ([]position.Stored, error) {
	first := l.counter.Add(int64(n)) - int64(n)
	ps := make([]position.Stored, n)
	for i := range ps {
		ps[i] = position.Stored(first + int64(i) + 1)
	}
	return ps, nil
}

func (l *table) between(after, upTo position.Token) []position.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []position.Position
	r := position.Between(after, upTo)
	for p := range l.rows {
		if r.Contains(p) {
			found = append(found, p)
		}
	}
	return found
}

// Three processes with two writers each, of which many goroutines write at once
// and a third of the transactions fails, and in each process a reader that goes
// from token to token: each gets every row once, and everybody reads its writes.
func TestStress(t *testing.T) {
	const processes, writers, routines, each = 3, 2, 4, 120
	log := &table{rows: map[position.Position]bool{}}
	var trackers []*position.Tracker
	var members []*position.Member
	for range processes {
		trackers = append(trackers, position.NewTracker(position.Options{Allocate: log.allocate}))
	}
	for i := range processes * writers {
		home := trackers[i%processes]
		m := joined(t, home, position.Writer(i+1))
		members = append(members, m)
		for _, tr := range trackers {
			if tr != home {
				if err := tr.Admit(m.Standing()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	var background, work errgroup.Group
	for _, from := range trackers {
		background.Go(func() error {
			for s, err := range from.News(ctx) {
				if err != nil {
					return nil
				}
				for _, to := range trackers {
					if to != from {
						if err := to.Hear(s); err != nil {
							return err
						}
					}
				}
			}
			return nil
		})
	}
	got := make([]map[position.Position]int, processes)
	for i, tr := range trackers {
		got[i] = map[position.Position]int{}
		background.Go(func() error {
			var last position.Token
			for done := false; !done; {
				done = ctx.Err() != nil // one more round after all is written
				now := tr.Token()
				if !last.AtMost(now) {
					t.Errorf("process %d went from %s back to %s", i, last, now)
				}
				for _, p := range log.between(last, now) {
					got[i][p]++
				}
				last = now
				_ = tr.WaitFor(ctx, position.Position{Number: now.Min() + 1})
			}
			return nil
		})
	}
	for i, m := range members {
		for r := range routines {
			work.Go(func() error {
				random := rand.New(rand.NewPCG(uint64(i), uint64(r)))
				for range each {
					ps, err := m.ReserveMany(ctx, random.IntN(4))
					if err != nil {
						return err
					}
					if random.IntN(3) > 0 {
						log.mu.Lock()
						for _, p := range ps {
							log.rows[p] = true
						}
						log.mu.Unlock()
					}
					random.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
					for _, p := range ps {
						if err := m.Finish(p); err != nil {
							return err
						}
					}
					if len(ps) == 0 {
						continue
					}
					other := trackers[random.IntN(processes)]
					mine := m.Standing()
					if err := other.Wait(ctx, position.TokenAt(0).With(position.Position{Writer: mine.Writer, Number: mine.Written})); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	if err := work.Wait(); err != nil {
		t.Error(err)
	}
	for _, tr := range trackers { // no news is lost: all come to the end by themselves
		if err := tr.Wait(ctx, position.TokenAt(position.Number(log.counter.Load()))); err != nil {
			t.Error(err)
		}
	}
	cancel()
	if err := background.Wait(); err != nil {
		t.Error(err)
	}
	for i := range trackers {
		for p := range log.rows {
			if got[i][p] != 1 {
				t.Fatalf("process %d got %s %d times", i, p, got[i][p])
			}
		}
		if len(got[i]) != len(log.rows) {
			t.Errorf("process %d got %d rows of %d", i, len(got[i]), len(log.rows))
		}
	}
}

// While positions are reserved, finished and waited for, writers come and go.
func TestStressMembership(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	var g errgroup.Group
	for w := range position.Writer(4) {
		g.Go(func() error {
			for e := range position.Epoch(200) {
				m, err := tr.Join(w+1, e+1)
				if err != nil {
					return err
				}
				p, err := m.Reserve(t.Context())
				if err != nil {
					return err
				}
				if w%2 == 0 { // it dies
					if _, err := tr.Fence(w+1, e+1, p.Number); err != nil {
						return err
					}
				} else {
					if err := m.Finish(p); err != nil {
						return err
					}
					if err := m.Leave(); err != nil {
						return err
					}
				}
				if err := tr.WaitFor(t.Context(), p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if s := tr.Stats(); s.Completed != 800 || s.Live+s.Open+s.Holding+s.Runs != 0 {
		t.Errorf("stats are %+v", s)
	}
}
