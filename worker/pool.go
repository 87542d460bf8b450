package worker

import (
	"context"
	"runtime"
	"time"
)

// Pool runs what a [Source] hands out. Its fields are settings, which must not
// change while it runs; the state is in each call of [Pool.Run], so that one
// Pool may run several sources, also at once.
type Pool[T, R any] struct {
	// Workers is how many runs may go on at once; 0 or less is [runtime.GOMAXPROCS].
	Workers int
	// Batch is the most items a worker takes at once; 0 or less is 1.
	Batch int
	// Grace is how long runs in hand may go on after intake has ended for another
	// reason than [io.EOF]; 0 is [DefaultGrace], less is no time at all.
	Grace time.Duration
	// Work is one run: it returns one result for each item, in the same order. It
	// is required. Its ctx has the values of the ctx that Run was given, but ends
	// only when the grace period is over, with the cause [ErrGraceOver], or, for
	// whoever kept it, when Run returns, with [ErrReturned]. It is called by all
	// workers at the same time. It must neither change items nor keep the slice.
	Work func(ctx context.Context, items []T) []R
	// Failed makes the results of a run that has none: the error is a
	// [*PanicError], [ErrGoexit] or an [ErrResults]. It must return one result for
	// each item, and must not panic: neither is forgiven. Nil stands for zero
	// results. It is called by all workers at the same time.
	Failed func(items []T, err error) []R
}

const (
	// DefaultGrace is the grace period of a pool that names none.
	DefaultGrace = 10 * time.Second
	// Settle is how long runs that heed the end of their context are waited for
	// once the grace period is over. They are given back as always.
	Settle = 50 * time.Millisecond
)

// Run takes work from src and runs it until there will be no more, and returns
// when all workers have ended:
//
//   - If ctx ends, nothing more is taken. Runs in hand are finished and given
//     back, for which they have Grace. Run returns nil.
//   - If src says [io.EOF], all that was taken is finished, for which it has all
//     the time until ctx ends. Run returns nil.
//   - If src fails while ctx is alive, it is as if ctx had ended, and Run returns
//     the error of src.
//
// If runs go on when Grace is over, their context ends with [ErrGraceOver], and
// [Settle] later Run returns a [*StuckError] with the items of those that still
// go on. Done is never called once Run has returned.
func (p *Pool[T, R]) Run(ctx context.Context, src Source[T, R]) error {
	if p.Work == nil {
		panic("worker: Pool without Work")
	}
	r := newRun(ctx, p, src)
	defer r.cut(ErrReturned)
	defer r.hurry(ErrReturned)

	r.start(p.workers())
	if r.wait(r.hurried.Done(), 0) {
		return r.sourceError()
	}
	if r.wait(nil, p.grace()) {
		return r.sourceError()
	}
	r.cut(ErrGraceOver)
	r.wait(nil, Settle)
	return r.abandon()
}

func (p *Pool[T, R]) workers() int {
	if p.Workers <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return p.Workers
}

func (p *Pool[T, R]) batch() int { return max(p.Batch, 1) }

func (p *Pool[T, R]) grace() time.Duration {
	if p.Grace == 0 {
		return DefaultGrace
	}
	return max(p.Grace, 0)
}
