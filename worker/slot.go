package worker

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/refold-go/refold/internal/yield"
)

// The states of a worker. Every way from Take to Done goes through busy and
// returning, and Run can turn busy into lost, but not returning: that is what
// makes sure that a result is either given back before Run returns, or never.
//
//	idle ──Take returned items──▶ busy
//	idle ──intake ended, Take failed──▶ gone
//	idle ──Take ignores its end, grace and Settle are over──▶ lost
//	busy ──results──▶ returning ──Done returned──▶ idle
//	busy ──panic, wrong number of results──▶ returning ──Done returned──▶ idle
//	busy ──Goexit──▶ returning ──Done returned──▶ idle, in a new goroutine
//	busy ──grace and Settle are over──▶ lost
//	lost ──Work or Take returned──▶ the goroutine ends, nothing is given back
const (
	idle int32 = iota
	busy
	returning
	gone
	lost
)

// slot is the place of one worker. After a Goexit the next goroutine has it.
type slot[T any] struct {
	number int
	// state is changed by the worker, and from idle or busy to lost by Run.
	state atomic.Int32
	// ended is closed when the worker's goroutine is about to end, and has no
	// successor.
	ended chan struct{}
	// buf is what Take fills. Only the worker uses it.
	buf []T
	// items is the part of buf that is in hand. The worker writes it while idle or
	// returning; Run reads it after it has turned busy into lost.
	items []T
}

func newSlot[T any](number, batch int) *slot[T] {
	return &slot[T]{number: number, ended: make(chan struct{}), buf: make([]T, batch)}
}

// worker is the life of a worker.
func (r *run[T, R]) worker(s *slot[T]) {
	defer func() {
		// Only Goexit leaves the loop with the slot busy; otherwise there is nothing
		// to give back.
		if r.giveBack(s, nil, ErrGoexit) {
			go r.worker(s)
			return
		}
		close(s.ended)
	}()
	intake, work := yield.Start(r.intake, "worker", s.number), yield.Name(r.work, "worker", s.number)
	for intake.Err() == nil {
		if !r.once(s, intake, work) {
			return
		}
	}
	s.state.CompareAndSwap(idle, gone)
}

// once takes items, runs them and gives them back. It returns false if the worker
// is to end.
func (r *run[T, R]) once(s *slot[T], intake, work context.Context) bool {
	n, err := r.src.Take(intake, s.buf)
	if n < 0 || n > len(s.buf) || n == 0 && err == nil {
		n, err = 0, fmt.Errorf("%w: %d", ErrSource, n)
	}
	if err != nil {
		r.sourceEnded(err)
	}
	if n == 0 {
		s.state.CompareAndSwap(idle, gone)
		return false
	}
	s.items = s.buf[:n]
	if !s.state.CompareAndSwap(idle, busy) {
		return false
	}
	results, err := r.try(work, s.items)
	return r.giveBack(s, results, err)
}

// try is one run, guarded against panics.
func (r *run[T, R]) try(work context.Context, items []T) (results []R, err error) {
	err = Guard(func() error {
		results = r.pool.Work(work, items)
		if len(results) != len(items) {
			return countError(len(results), len(items))
		}
		return nil
	})
	return results, err
}

// giveBack gives the items in hand back, with the results of Failed if there is
// an error. It returns false if there are none, or if Run has abandoned them.
func (r *run[T, R]) giveBack(s *slot[T], results []R, err error) bool {
	if !s.state.CompareAndSwap(busy, returning) {
		return false
	}
	if err != nil {
		results = r.failed(s.items, err)
	}
	r.src.Done(s.items, results)
	clear(s.items) // so that idle workers keep nothing alive
	s.items = nil
	s.state.Store(idle)
	return true
}

func (r *run[T, R]) failed(items []T, err error) []R {
	if r.pool.Failed == nil {
		return make([]R, len(items))
	}
	results := r.pool.Failed(items, err)
	if len(results) != len(items) {
		panic(countError(len(results), len(items)))
	}
	return results
}
