package worker_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/worker"
)

// TestArrows walks every arrow of a worker's life, one row each, with a pool of
// one worker. At the end of each row the context is cancelled, and the error of
// Run must be the row's.
func TestArrows(t *testing.T) {
	broken := errors.New("broken")
	release := make(chan struct{}) // made anew in each bubble
	stuck := func(want ...int) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			e, ok := errors.AsType[*worker.StuckError[int]](err)
			if !ok || !slices.Equal(e.Items, want) || !errors.Is(err, worker.ErrGraceOver) {
				t.Errorf("Run = %v, want the items %v stuck", err, want)
			}
		}
	}
	is := func(want error) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			if err != want {
				t.Errorf("Run = %v, want %v", err, want)
			}
		}
	}
	for _, row := range []struct {
		arrow string
		work  func(ctx context.Context, item int) string // nil: ok
		items []int
		then  func(*source) // once everything has come to rest, before the cancellation
		deaf  bool          // Take ignores its context
		count bool          // Work returns too many results

		err  func(*testing.T, error) // of Run
		back map[int]string          // what came back
		out  []int                   // what never did
	}{
		{
			arrow: "idle → gone: intake ended",
			err:   is(nil),
		}, {
			arrow: "idle → gone: Take failed",
			then:  func(s *source) { s.fail(broken) },
			err:   is(broken),
		}, {
			arrow: "idle → gone: Take came to its end",
			then:  func(s *source) { s.fail(io.EOF) },
			err:   is(nil),
		}, {
			arrow: "idle → busy: Take returned items",
			items: []int{1},
			work:  func(context.Context, int) string { <-release; return "late" },
			then: func(s *source) {
				if out := s.out(); !slices.Equal(out, []int{1}) {
					s.t.Errorf("out: %v", out)
				}
				close(release)
			},
			err:  is(nil),
			back: map[int]string{1: "late"},
		}, {
			arrow: "busy → returning: results",
			items: []int{1},
			err:   is(nil),
			back:  map[int]string{1: "ok"},
		}, {
			arrow: "busy → returning: panic",
			items: []int{1},
			work:  func(context.Context, int) string { panic("boom") },
			err:   is(nil),
			back:  map[int]string{1: "panic boom"},
		}, {
			arrow: "busy → returning: wrong number of results",
			items: []int{1},
			count: true,
			err:   is(nil),
			back:  map[int]string{1: "results"},
		}, {
			arrow: "busy → returning: Goexit, then idle in a new goroutine",
			items: []int{1, 2, 3},
			work: func(_ context.Context, i int) string {
				if i < 3 {
					runtime.Goexit()
				}
				return "ok"
			},
			err:  is(nil),
			back: map[int]string{1: "goexit", 2: "goexit", 3: "ok"},
		}, {
			arrow: "returning → idle: Done returned",
			items: []int{1},
			then:  func(s *source) { s.add(2); synctest.Wait() },
			err:   is(nil),
			back:  map[int]string{1: "ok", 2: "ok"},
		}, {
			arrow: "busy → lost: grace and Settle are over; lost → ends: result dropped",
			items: []int{1},
			work:  func(context.Context, int) string { <-release; return "dropped" },
			err:   stuck(1),
			out:   []int{1},
		}, {
			arrow: "lost → ends: panic dropped",
			items: []int{1},
			work:  func(context.Context, int) string { <-release; panic("dropped") },
			err:   stuck(1),
			out:   []int{1},
		}, {
			arrow: "lost → ends: Goexit dropped, no successor",
			items: []int{1},
			work:  func(context.Context, int) string { <-release; runtime.Goexit(); return "" },
			err:   stuck(1),
			out:   []int{1},
		}, {
			arrow: "idle → lost: Take ignores its end; lost → ends: what it returns late is not run",
			deaf:  true,
			err:   stuck(),
		},
	} {
		t.Run(row.arrow, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				if row.work == nil {
					row.work = ok
				}
				p := &worker.Pool[int, string]{Workers: 1, Grace: time.Second, Work: each(row.work), Failed: failed}
				if row.count {
					p.Work = func(context.Context, []int) []string { return []string{"one", "two"} }
				}
				s := newSource(t, row.items...)
				s.deaf = row.deaf
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := s.run(ctx, p)
				synctest.Wait()
				if row.then != nil {
					row.then(s)
					synctest.Wait()
				}
				cancel()
				row.err(t, r.wait())
				if out := s.out(); !slices.Equal(out, row.out) {
					t.Errorf("out: %v, want %v", out, row.out)
				}
				s.expect(row.back)

				// Whoever was lost comes to life again, and nothing happens.
				if row.deaf {
					s.add(99)
				}
				if len(row.out) > 0 {
					close(release)
				}
				synctest.Wait()
				s.expect(row.back)
			})
		})
	}
}
