package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/refold-go/refold/worker"
)

// source hands out numbers and books what comes back.
type source struct {
	t  *testing.T
	in chan int
	// failed has the error that the next Take that finds no items returns. All the
	// others have to be ended by their context.
	failed chan error
	// deaf makes Take ignore its context.
	deaf bool
	// taken and done are called in Take and Done, if they are set.
	taken func(items []int)
	done  func(items []int)

	// mu guards the following fields.
	mu       sync.Mutex
	takes    []int          // how many items each Take returned
	hand     map[int]bool   // the items that are out
	back     map[int]string // what came back
	returned bool           // Run has returned
}

func newSource(t *testing.T, items ...int) *source {
	s := &source{
		t: t, in: make(chan int, 1000), failed: make(chan error, 1),
		hand: map[int]bool{}, back: map[int]string{},
	}
	s.add(items...)
	return s
}

func (s *source) add(items ...int) {
	for _, i := range items {
		s.in <- i
	}
}

func (s *source) fail(err error) { s.failed <- err }

func (s *source) Take(ctx context.Context, buf []int) (int, error) {
	ended := ctx.Done()
	if s.deaf {
		ended = nil
	}
	select {
	case buf[0] = <-s.in:
	default:
		select {
		case buf[0] = <-s.in:
		case err := <-s.failed:
			return 0, err
		case <-ended:
			return 0, ctx.Err()
		}
	}
	n := 1
more:
	for n < len(buf) {
		select {
		case buf[n] = <-s.in:
			n++
		default:
			break more
		}
	}
	s.mu.Lock()
	s.takes = append(s.takes, n)
	for _, i := range buf[:n] {
		if s.hand[i] {
			s.t.Errorf("%d is taken while it is out", i)
		}
		s.hand[i] = true
	}
	s.mu.Unlock()
	if s.taken != nil {
		s.taken(buf[:n])
	}
	return n, nil
}

func (s *source) Done(items []int, results []string) {
	if s.done != nil {
		s.done(items)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returned {
		s.t.Errorf("%v is given back after Run has returned", items)
	}
	if len(items) != len(results) {
		s.t.Errorf("%d results for %d items", len(results), len(items))
		return
	}
	for k, i := range items {
		if !s.hand[i] {
			s.t.Errorf("%d is given back but not out", i)
		}
		delete(s.hand, i)
		s.back[i] = results[k]
	}
}

// out returns the items that have not come back.
func (s *source) out() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int
	for i := range s.hand {
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

func (s *source) result(item int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.back[item]
}

func (s *source) expect(results map[int]string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, want := range results {
		if got, ok := s.back[i]; !ok || got != want {
			s.t.Errorf("%d came back (%v) with %q, want %q", i, ok, got, want)
		}
	}
	if len(s.back) != len(results) {
		s.t.Errorf("came back: %v, want %v", s.back, results)
	}
}

// running is a call of Run.
type running struct {
	done chan struct{}
	err  error // read after done is closed
}

func (s *source) run(ctx context.Context, p *worker.Pool[int, string]) *running {
	r := &running{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = p.Run(ctx, s)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.returned = true
	}()
	return r
}

func (r *running) wait() error {
	<-r.done
	return r.err
}

func (r *running) returned() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// each makes a Work of what is to be done with one item.
func each(f func(ctx context.Context, item int) string) func(context.Context, []int) []string {
	return func(ctx context.Context, items []int) []string {
		var results []string
		for _, i := range items {
			results = append(results, f(ctx, i))
		}
		return results
	}
}

func ok(context.Context, int) string { return "ok" }

// failed is a Failed that tells the errors of the package apart.
func failed(items []int, err error) []string {
	var s string
	switch p, isPanic := errors.AsType[*worker.PanicError](err); {
	case isPanic && len(p.Stack) > 0:
		s = fmt.Sprint("panic ", p.Value)
	case errors.Is(err, worker.ErrGoexit):
		s = "goexit"
	case errors.Is(err, worker.ErrResults):
		s = "results"
	}
	return slices.Repeat([]string{s}, len(items))
}
