package worker_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/worker"
)

// TestEveryItemComesBackOnce runs random pools over random work in fake time,
// ends them at a random moment, and accounts for every item: it is still queued,
// or has come back once, or is named as stuck.
func TestEveryItemComesBackOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 6).Draw(rt, "workers")
		batch := rapid.IntRange(1, 4).Draw(rt, "batch")
		grace := time.Duration(rapid.IntRange(-1, 40).Draw(rt, "grace"))
		items := rapid.IntRange(0, 60).Draw(rt, "items")
		end := rapid.SampledFrom([]string{"cancel", "fail", "eof"}).Draw(rt, "end")
		at := time.Duration(rapid.IntRange(0, 60).Draw(rt, "at"))
		// What an item does is drawn before, because the order of the runs is not.
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"ok", "ok", "ok", "panic", "goexit", "slow", "stuck"}), items, items).Draw(rt, "kinds")
		lasts := rapid.SliceOfN(rapid.IntRange(0, 5), items, items).Draw(rt, "lasts")

		synctest.Test(t, func(t *testing.T) {
			p := &worker.Pool[int, string]{Workers: workers, Batch: batch, Grace: grace, Failed: failed, Work: each(func(ctx context.Context, i int) string {
				time.Sleep(time.Duration(lasts[i]))
				switch kinds[i] {
				case "panic":
					panic(i)
				case "goexit":
					runtime.Goexit()
				case "slow":
					<-ctx.Done()
				case "stuck":
					time.Sleep(time.Hour)
				}
				return "ok"
			})}
			s := newSource(t)
			for i := range items {
				s.add(i)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := s.run(ctx, p)
			time.Sleep(at)
			broken := errors.New("broken")
			switch end {
			case "cancel":
				cancel()
			case "fail":
				s.fail(broken)
			case "eof":
				s.fail(io.EOF)
				time.Sleep(at)
			}
			if end != "cancel" {
				// A source that has failed still hands out what it has; in the end the
				// context goes too.
				time.Sleep(time.Minute)
				cancel()
			}
			err := r.wait()
			stuck, isStuck := errors.AsType[*worker.StuckError[int]](err)
			switch {
			case isStuck:
				slices.Sort(stuck.Items)
				if out := s.out(); len(out) == 0 || !slices.Equal(stuck.Items, out) {
					t.Errorf("stuck: %v, out: %v", stuck.Items, out)
				}
			case err != nil && (end != "fail" || !errors.Is(err, broken)):
				t.Errorf("Run = %v", err)
			case len(s.out()) > 0:
				t.Errorf("out: %v", s.out())
			}
			if len(s.in)+len(s.back)+len(s.out()) != items {
				t.Errorf("%d queued + %d back + %d out of %d", len(s.in), len(s.back), len(s.out()), items)
			}
			time.Sleep(100 * 2 * time.Hour) // those that were stuck end; nothing may come back
		})
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

// TestStressWithRealTime is for the race detector: many items through few
// workers on real threads, ended in the middle, while runs panic, exit, and are
// still going on at the end of a grace of next to nothing.
func TestStressWithRealTime(t *testing.T) {
	for round := range 30 {
		p := &worker.Pool[int, string]{Workers: 4, Batch: 3, Grace: time.Duration(round%3) * 100 * time.Microsecond, Failed: failed}
		p.Work = each(func(ctx context.Context, i int) string {
			switch rand.IntN(20) {
			case 0:
				panic(i)
			case 1:
				runtime.Goexit()
			case 2:
				runtime.Gosched()
			case 3:
				if ctx.Err() != nil {
					time.Sleep(2 * worker.Settle)
				}
			}
			return "ok"
		})
		s := newSource(t)
		ctx, cancel := context.WithCancel(t.Context())
		r := s.run(ctx, p)
		items := 2000 + rand.IntN(1000)
		for i := range items {
			s.in <- i
		}
		cancel()
		err := r.wait()
		stuck, isStuck := errors.AsType[*worker.StuckError[int]](err)
		if err != nil && !isStuck {
			t.Fatalf("Run = %v", err)
		}
		if isStuck {
			slices.Sort(stuck.Items)
			if !slices.Equal(stuck.Items, s.out()) {
				t.Errorf("stuck: %v, out: %v", stuck.Items, s.out())
			}
		} else if out := s.out(); len(out) > 0 {
			t.Errorf("out: %v", out)
		}
		if n := len(s.in) + len(s.back) + len(s.out()); n != items {
			t.Errorf("%d are queued, back or out; want %d", n, items)
		}
	}
}
