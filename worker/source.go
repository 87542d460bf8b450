package worker

import "context"

// Source is where a pool gets work and gives it back. Its methods are called by
// all workers at the same time.
type Source[T, R any] interface {
	// Take waits for work, puts at least one item into buf, which has room for as
	// many as a worker takes at once, and returns how many. It must return soon
	// after ctx ended. Items that it has taken out at that moment it may return:
	// they are run and given back as always.
	//
	// An error means that there will be no more, for any worker: [io.EOF] itself, not
	// wrapped, that the source came to its end, which is no failure; anything else that it failed,
	// unless ctx has ended. The number is 0 then.
	Take(ctx context.Context, buf []T) (n int, err error)

	// Done gives items back with how each went: results has one result for each
	// item, in the same order. It is called exactly once for all that one Take
	// returned, except that it is never called for items that were abandoned, see
	// [StuckError]. It must not block for long, because [Pool.Run] waits for it.
	// Both slices are the caller's own: Done must keep neither.
	Done(items []T, results []R)
}
