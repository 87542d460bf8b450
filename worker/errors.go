package worker

import (
	"errors"
	"fmt"
)

// Reasons for which a run has no results of its own, as [Pool.Failed] gets them
// beside [*PanicError].
var (
	// ErrGoexit means that the run ended its goroutine by [runtime.Goexit], as
	// FailNow of a test does.
	ErrGoexit = errors.New("worker: run ended its goroutine")
	// ErrResults means that the run returned another number of results than it had
	// items.
	ErrResults = errors.New("worker: wrong number of results")
)

// Errors of the end of a pool.
var (
	// ErrGraceOver is the cause with which the context of runs ends that still go
	// on at the end of the grace period.
	ErrGraceOver = errors.New("worker: grace period is over")
	// ErrReturned is the cause with which the contexts of a pool end that nothing
	// else has ended when Run returns.
	ErrReturned = errors.New("worker: pool has returned")
	// ErrSource means that a source's Take broke its contract: no error, and no
	// item or more items than there was room for.
	ErrSource = errors.New("worker: source took an impossible number of items")
)

// StuckError says that runs went on after the grace period and did not heed the
// end of their context either, or that a source's Take did not. It is an
// [ErrGraceOver].
type StuckError[T any] struct {
	// Items are those of the runs that went on. They were not given back and never
	// will be. It is empty if only Take was stuck.
	Items []T
	// Err is the error by which the source had ended, or nil.
	Err error
}

// Error says how many items are stuck and, of a few, which.
func (e *StuckError[T]) Error() string {
	const few = 5
	var s string
	switch n := len(e.Items); {
	case n == 0:
		s = fmt.Sprintf("%v, and the source's Take has not returned", ErrGraceOver)
	case n <= few:
		s = fmt.Sprintf("%v, still running: %v", ErrGraceOver, e.Items)
	default:
		s = fmt.Sprintf("%v, still running: %v and %d more", ErrGraceOver, e.Items[:few], n-few)
	}
	if e.Err != nil {
		s += fmt.Sprintf(" (after: %v)", e.Err)
	}
	return s
}

// Unwrap returns [ErrGraceOver] and, if there is one, Err.
func (e *StuckError[T]) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrGraceOver}
	}
	return []error{ErrGraceOver, e.Err}
}
