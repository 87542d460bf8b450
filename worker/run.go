package worker

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/refold-go/refold/internal/yield"
)

// run is the state of one call of [Pool.Run].
//
// Three contexts follow from the caller's ctx:
//
//	ctx ──▶ hurried ──▶ intake      work (has the values of ctx only)
//	          │           │           │
//	          │           │           └ given to Work; ends with ErrGraceOver
//	          │           └ given to Take; ends also when the source is at its end
//	          └ its end starts the grace; ends also when the source failed
//
// What is left of them when Run returns ends with ErrReturned.
type run[T, R any] struct {
	pool *Pool[T, R]
	src  Source[T, R]

	ctx     context.Context // the caller's
	hurried context.Context
	hurry   context.CancelCauseFunc
	intake  context.Context
	stop    context.CancelCauseFunc
	work    context.Context
	cut     context.CancelCauseFunc

	// slots has one element for each worker. It is written before the first worker
	// starts.
	slots []*slot[T]

	// mu guards the following field.
	mu sync.Mutex
	// end is the first error of Take, if it came while ctx was alive, else nil.
	end error
}

func newRun[T, R any](ctx context.Context, p *Pool[T, R], src Source[T, R]) *run[T, R] {
	r := &run[T, R]{pool: p, src: src, ctx: ctx}
	r.hurried, r.hurry = context.WithCancelCause(ctx)
	r.intake, r.stop = context.WithCancelCause(r.hurried)
	r.work, r.cut = context.WithCancelCause(context.WithoutCancel(ctx))
	return r
}

func (r *run[T, R]) start(workers int) {
	r.slots = make([]*slot[T], workers)
	for i := range r.slots {
		r.slots[i] = newSlot[T](i, r.pool.batch())
	}
	for _, s := range r.slots {
		go r.worker(s)
	}
}

// wait returns true once all workers have ended, or false if before that the
// channel was closed or, where the channel is nil, the time was up.
func (r *run[T, R]) wait(closed <-chan struct{}, d time.Duration) bool {
	var up <-chan time.Time
	switch {
	case closed != nil:
	case d > 0:
		t := time.NewTimer(d)
		defer t.Stop()
		up = t.C
	default: // no timer begins due
		now := make(chan struct{})
		close(now)
		closed = now
	}
	for _, s := range r.slots {
		select {
		case <-s.ended:
			continue
		default:
		}
		ended := false
		select {
		case <-s.ended:
			ended = true
		case <-closed:
		case <-up:
		}
		yield.At(r.ctx, "waited for a worker")
		if !ended {
			return false
		}
	}
	return true
}

// sourceEnded ends intake because Take returned err.
func (r *run[T, R]) sourceEnded(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end != nil || r.ctx.Err() != nil {
		return // intake has ended, and err only says so
	}
	r.end = err
	if err == io.EOF {
		r.stop(err)
	} else {
		r.hurry(err)
	}
}

// sourceError returns the error by which the source failed, or nil.
func (r *run[T, R]) sourceError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == io.EOF {
		return nil
	}
	return r.end
}

// abandon shuts the way back for all runs in hand and waits for the workers that
// are past it. It returns the error of Run.
func (r *run[T, R]) abandon() error {
	stuck := &StuckError[T]{}
	abandoned := false
	for _, s := range r.slots {
		switch {
		case s.state.CompareAndSwap(busy, lost):
			stuck.Items = append(stuck.Items, s.items...)
			abandoned = true
		case s.state.CompareAndSwap(idle, lost):
			abandoned = true
		default:
			<-s.ended
		}
	}
	stuck.Err = r.sourceError()
	if !abandoned {
		return stuck.Err
	}
	return stuck
}

// countError says that Work returned got results for want items.
func countError(got, want int) error {
	return fmt.Errorf("%w: %d for %d items", ErrResults, got, want)
}
