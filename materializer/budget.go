package materializer

import (
	"context"

	"github.com/refold-go/refold/internal/yield"
	"golang.org/x/sync/semaphore"
)

// budget is what all runs together may hold in memory of operations and stored
// views. A run takes its share before it reads. If that turns out too small it
// drops what it has read, gives its share back and takes more: nobody waits while
// holding something, so there is no deadlock, and the semaphore serves in order
// of arrival, so that a large request is not starved by small ones.
//
// Two things are not counted: the one operation that turned out too large for its
// run's share, until it is dropped, and what a fold holds that takes longer than
// patience: it may hold it for ever.
type budget struct {
	sem *semaphore.Weighted
	// total is the whole, share what a run takes first.
	total, share int64
	// ended is closed when Run is told to stop: what has not begun then is given
	// back instead of waiting for bytes.
	ended <-chan struct{}
}

func newBudget(total int64, workers int, ended <-chan struct{}) *budget {
	return &budget{sem: semaphore.NewWeighted(total), total: total, share: max(total/int64(workers), 1), ended: ended}
}

// take waits for n bytes. Errors: the context's cause.
func (b *budget) take(ctx context.Context, n int64) error {
	if b.sem.TryAcquire(n) { // also when ctx has ended: what was taken may finish
		return nil
	}
	select {
	case <-b.ended:
		return errStopping
	default:
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waiting := make(chan struct{})
	defer close(waiting)
	go func() { // it ends with the wait
		select {
		case <-b.ended:
			cancel(errStopping)
		case <-waiting:
		}
	}()
	err := b.sem.Acquire(ctx, n)
	yield.At(ctx, "waited for bytes")
	if err != nil {
		return context.Cause(ctx)
	}
	return nil
}

// room is how many bytes a run may read at a time of what a derived document is made
// from, beside views: a quarter of its share, and no more than is useful.
func (b *budget) room() int64 { return max(min(b.share/4, mostRoom), 1) }

const mostRoom = 4 << 20

func (b *budget) give(n int64) { b.sem.Release(n) }
