package worker_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/worker"
)

func TestW1_PanicNeitherKillsAWorkerNorPoisonsItsItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		healthy := false
		p := &worker.Pool[int, string]{Workers: 2, Failed: failed, Work: each(func(_ context.Context, i int) string {
			if i == 7 && !healthy {
				panic("boom")
			}
			return "ok"
		})}
		s := newSource(t)
		ctx, cancel := context.WithCancel(t.Context())
		r := s.run(ctx, p)
		for range 1000 { // far more often than there are workers
			s.add(7)
			synctest.Wait()
			if got := s.result(7); got != "panic boom" {
				t.Fatalf("7 came back with %q", got)
			}
		}
		healthy = true
		s.add(7, 8)
		synctest.Wait()
		s.expect(map[int]string{7: "ok", 8: "ok"})
		cancel()
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestW13_ShutdownWaitsForRunsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		p := &worker.Pool[int, string]{Workers: 3, Work: each(func(ctx context.Context, i int) string {
			time.Sleep(9 * time.Second)
			if err := ctx.Err(); err != nil {
				return err.Error()
			}
			return ctx.Value(key{}).(string)
		})}
		s := newSource(t, 1, 2, 3, 4)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		start := time.Now()
		r := s.run(ctx, p)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if r.returned() {
			t.Fatal("Run returned while runs were in hand")
		}
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 9*time.Second {
			t.Errorf("Run returned after %v", d)
		}
		// The fourth has never been taken.
		if len(s.in) != 1 || len(s.takes) != 3 {
			t.Errorf("%d left, %d taken", len(s.in), len(s.takes))
		}
		for i, result := range s.back {
			if result != "value" {
				t.Errorf("%d came back with %q", i, result)
			}
		}
	})
}

func TestRiver78_1258_RunReturnsAtItsDeadline(t *testing.T) {
	for name, row := range map[string]struct{ grace, want time.Duration }{
		"stated":  {100 * time.Millisecond, 100 * time.Millisecond},
		"default": {0, worker.DefaultGrace},
		"none":    {-1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cause error
				p := &worker.Pool[int, string]{Workers: 4, Batch: 2, Grace: row.grace, Work: each(func(ctx context.Context, i int) string {
					switch i {
					case 1, 2: // ignores everything
						time.Sleep(time.Hour)
					case 3: // heeds its context
						<-ctx.Done()
						cause = context.Cause(ctx)
						time.Sleep(worker.Settle / 2)
						return "heeded"
					}
					return "ok"
				})}
				s := newSource(t)
				ctx, cancel := context.WithCancel(t.Context())
				r := s.run(ctx, p)
				for _, items := range [][]int{{1, 11}, {2}, {3}, {4}} {
					s.add(items...)
					synctest.Wait()
				}
				start := time.Now()
				cancel()
				err := r.wait()
				stuck, ok := errors.AsType[*worker.StuckError[int]](err)
				if !ok {
					t.Fatalf("Run = %v", err)
				}
				slices.Sort(stuck.Items)
				if !slices.Equal(stuck.Items, s.out()) || len(stuck.Items) < 2 || stuck.Err != nil {
					t.Errorf("stuck: %v, out: %v", stuck, s.out())
				}
				if !strings.Contains(err.Error(), "2") {
					t.Errorf("the error names no items: %v", err)
				}
				if d := time.Since(start); d != row.want+worker.Settle {
					t.Errorf("Run returned after %v", d)
				}
				if !errors.Is(cause, worker.ErrGraceOver) {
					t.Errorf("cause: %v", cause)
				}
				if got := s.result(3); got != "heeded" {
					t.Errorf("3 came back with %q", got)
				}
				time.Sleep(2 * time.Hour) // the source complains if anything comes back now
			})
		})
	}
}

// TestTemporal1197_TakenDuringShutdown has Take return an item after the context
// has ended: it is run and given back.
func TestTemporal1197_TakenDuringShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &worker.Pool[int, string]{Workers: 1, Work: each(func(ctx context.Context, _ int) string {
			if ctx.Err() != nil {
				return "its context has ended"
			}
			return "ok"
		})}
		s := newSource(t, 1, 2)
		ctx, cancel := context.WithCancel(t.Context())
		s.taken = func([]int) { cancel() }
		if err := s.run(ctx, p).wait(); err != nil {
			t.Fatal(err)
		}
		s.expect(map[int]string{1: "ok"})
	})
}

// TestWatermill446_OrderOfShutdown: intake ends first, then the runs, then what
// they give back, then Run.
func TestWatermill446_OrderOfShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards order
		var order []string
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, s)
		}
		p := &worker.Pool[int, string]{Workers: 1, Grace: time.Minute, Work: each(func(context.Context, int) string {
			time.Sleep(59 * time.Second)
			note("run ended")
			return "ok"
		})}
		s := newSource(t, 1)
		s.done = func([]int) {
			time.Sleep(10 * time.Second) // beyond the grace and Settle
			note("given back")
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := s.run(ctx, p)
		synctest.Wait()
		cancel()
		note("intake ended")
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		note("returned")
		if want := []string{"intake ended", "run ended", "given back", "returned"}; !slices.Equal(order, want) {
			t.Fatalf("order: %q", order)
		}
	})
}

func TestCancelWhileTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &worker.Pool[int, string]{Workers: 8, Work: each(ok)}
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		r := newSource(t).run(ctx, p)
		synctest.Wait()
		cancel()
		if err := r.wait(); err != nil || time.Since(start) != 0 {
			t.Fatalf("Run = %v after %v", err, time.Since(start))
		}
		// With a context that has ended before, nothing is taken.
		s := newSource(t, 1)
		if err := s.run(ctx, p).wait(); err != nil || len(s.takes) != 0 {
			t.Fatalf("Run = %v, takes: %v", err, s.takes)
		}
	})
}

func TestExactlyNRunsAtOnce(t *testing.T) {
	for _, row := range []struct{ workers, want int }{{1, 1}, {5, 5}, {0, runtime.GOMAXPROCS(0)}, {-1, runtime.GOMAXPROCS(0)}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex // guards now and most
			var now, most int
			p := &worker.Pool[int, string]{Workers: row.workers, Failed: failed, Work: each(func(_ context.Context, i int) string {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				switch i % 10 {
				case 3:
					panic(i)
				case 7:
					runtime.Goexit()
				}
				return "ok"
			})}
			s := newSource(t)
			for i := range 100 {
				s.add(i)
			}
			ctx, cancel := context.WithCancel(t.Context())
			r := s.run(ctx, p)
			for range 100/row.want - 1 {
				synctest.Wait()
				mu.Lock()
				if now != row.want {
					t.Fatalf("%d runs at once, want %d", now, row.want)
				}
				mu.Unlock()
				time.Sleep(time.Second)
			}
			time.Sleep(time.Minute)
			cancel()
			if err := r.wait(); err != nil || len(s.back) != 100 {
				t.Fatalf("Run = %v, %d came back", err, len(s.back))
			}
			if most != row.want {
				t.Fatalf("%d runs at once, want %d", most, row.want)
			}
		})
	}
}

func TestBatchFollowsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, row := range []struct {
			batch int
			takes []int
		}{{0, []int{1, 1, 1, 1, 1, 1}}, {1, []int{1, 1, 1, 1, 1, 1}}, {4, []int{4, 1, 1}}, {100, []int{5, 1}}} {
			p := &worker.Pool[int, string]{Workers: 1, Batch: row.batch, Work: each(ok)}
			s := newSource(t, 1, 2, 3, 4, 5)
			ctx, cancel := context.WithCancel(t.Context())
			r := s.run(ctx, p)
			synctest.Wait()
			s.add(6) // one queued: one taken
			synctest.Wait()
			cancel()
			if err := r.wait(); err != nil || !slices.Equal(s.takes, row.takes) || len(s.back) != 6 {
				t.Errorf("batch %d: Run = %v, takes: %v, back: %v", row.batch, err, s.takes, s.back)
			}
		}
	})
}

func TestABatchFailsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &worker.Pool[int, string]{Workers: 1, Batch: 3, Failed: failed, Work: func(context.Context, []int) []string { return nil }}
		s := newSource(t, 1, 2, 3)
		s.fail(io.EOF)
		if err := s.run(t.Context(), p).wait(); err != nil {
			t.Fatal(err)
		}
		s.expect(map[int]string{1: "results", 2: "results", 3: "results"})
	})
}

func TestWithoutFailedTheResultsAreZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &worker.Pool[int, string]{Work: func(context.Context, []int) []string { panic("boom") }}
		s := newSource(t, 1, 2)
		s.fail(io.EOF)
		if err := s.run(t.Context(), p).wait(); err != nil {
			t.Fatal(err)
		}
		s.expect(map[int]string{1: "", 2: ""})
	})
}

// TestEndOfTheSource: an end gives the runs in hand all the time they need, a
// failure only the grace period.
func TestEndOfTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &worker.Pool[int, string]{Workers: 3, Grace: time.Second, Work: each(func(context.Context, int) string {
			time.Sleep(time.Hour)
			return "ok"
		})}
		s := newSource(t, 1)
		r := s.run(t.Context(), p)
		synctest.Wait()
		s.fail(io.EOF)
		if err := r.wait(); err != nil {
			t.Fatal(err)
		}
		s.expect(map[int]string{1: "ok"})

		broken := errors.New("broken")
		s = newSource(t, 1)
		r = s.run(t.Context(), p)
		synctest.Wait()
		s.fail(broken)
		start := time.Now()
		err := r.wait()
		if !errors.Is(err, broken) || !errors.Is(err, worker.ErrGraceOver) || time.Since(start) != time.Second+worker.Settle {
			t.Fatalf("Run = %v after %v", err, time.Since(start))
		}
		time.Sleep(2 * time.Hour)

		// The end of the context starts the grace also after the end of the source.
		s = newSource(t, 1)
		ctx, cancel := context.WithCancel(t.Context())
		r = s.run(ctx, p)
		synctest.Wait()
		s.fail(io.EOF)
		time.Sleep(10 * time.Minute)
		if r.returned() {
			t.Fatal("Run has returned")
		}
		cancel()
		if err := r.wait(); !errors.Is(err, worker.ErrGraceOver) {
			t.Fatalf("Run = %v", err)
		}
		time.Sleep(2 * time.Hour)
	})
}

// impossible is a source whose Take returns n without an error.
type impossible int

func (n impossible) Take(context.Context, []int) (int, error) { return int(n), nil }
func (impossible) Done([]int, []string)                       { panic("nothing was taken") }

func TestImpossibleTakesEndThePool(t *testing.T) {
	for _, n := range []impossible{-1, 0, 3} {
		p := &worker.Pool[int, string]{Batch: 2, Work: each(ok)}
		if err := p.Run(t.Context(), n); !errors.Is(err, worker.ErrSource) {
			t.Errorf("%d: Run = %v", n, err)
		}
	}
}

func TestOnePoolRunsSeveralSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &worker.Pool[int, string]{Work: each(ok)}
		a, b := newSource(t, 1, 2), newSource(t, 1, 2)
		ra, rb := a.run(t.Context(), p), b.run(t.Context(), p)
		a.fail(io.EOF)
		b.fail(io.EOF)
		if err := errors.Join(ra.wait(), rb.wait()); err != nil {
			t.Fatal(err)
		}
		a.expect(map[int]string{1: "ok", 2: "ok"})
		b.expect(map[int]string{1: "ok", 2: "ok"})
	})
}

func TestContextsEndWithACause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		p := &worker.Pool[int, string]{Workers: 1, Work: each(func(ctx context.Context, _ int) string {
			kept = ctx
			return "ok"
		})}
		s := newSource(t, 1)
		s.fail(io.EOF)
		if err := s.run(t.Context(), p).wait(); err != nil {
			t.Fatal(err)
		}
		if cause := context.Cause(kept); !errors.Is(cause, worker.ErrReturned) {
			t.Fatalf("cause: %v", cause)
		}
	})
}

func TestStuckErrorNamesAFew(t *testing.T) {
	err := &worker.StuckError[string]{Items: []string{"a", "b", "c", "d", "e", "f", "g"}, Err: io.ErrUnexpectedEOF}
	if s := err.Error(); !strings.Contains(s, "[a b c d e] and 2 more") || !strings.Contains(s, "unexpected EOF") {
		t.Errorf("got %q", s)
	}
}
