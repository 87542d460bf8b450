package materializer

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// FoldError says at which operation of which document a fold failed. That of
// [Collection.Latest] unwraps to what the fold returned, or to a [*PanicError].
// That of a parked document comes from the store, and has only the text.
type FoldError struct {
	Collection, Document string
	// Seq is the operation at which the fold failed.
	Seq int64
	// Attempt counts the runs that failed there, from 1; 0 if it was not a run of
	// the pool.
	Attempt int
	// Stack is the stack of a panic, if Err is not a [*PanicError] that has it.
	Stack string
	Err   error
}

func (e *FoldError) Error() string {
	return fmt.Sprintf("fold of %s at seq %d: %v", Key{Collection: e.Collection, ID: e.Document}, e.Seq, e.Err)
}

func (e *FoldError) Unwrap() error { return e.Err }

// Permanent wraps an error of a fold that trying again will not mend: the
// document is parked at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// RetryAfter wraps an error of a fold that should be tried again after d exactly,
// instead of after the collection's backoff, but after a day at the latest. It counts
// as an attempt.
// RetryAfter(d, nil) is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryError{err, max(d, 0)}
}

type retryError struct {
	error
	after time.Duration
}

func (e *retryError) Unwrap() error { return e.error }

// permanent reports whether trying again is of no use.
func permanent(err error) bool {
	_, marked := errors.AsType[*permanentError](err)
	return marked || errors.Is(err, ErrUnknownKind) || errors.Is(err, ErrDamaged)
}

// StuckError says which documents were still being folded when the grace was
// over. Their folds go on in goroutines that cannot be stopped; what they return
// is thrown away, and their documents stay dirty. It is an [ErrGraceOver].
type StuckError struct {
	Documents []Key
}

func (e *StuckError) Error() string {
	const most = 5
	names := make([]string, 0, most)
	for _, k := range e.Documents[:min(len(e.Documents), most)] {
		names = append(names, k.String())
	}
	s := fmt.Sprintf("refold: the grace is over and %d folds have not returned: %s", len(e.Documents), strings.Join(names, ", "))
	if len(e.Documents) > most {
		s += ", …"
	}
	return s
}

// Is reports whether target is [ErrGraceOver].
func (e *StuckError) Is(target error) bool { return target == ErrGraceOver }
