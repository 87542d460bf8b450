package position

import (
	"errors"
	"fmt"
)

// Errors of tokens.
var (
	// ErrToken means that something is not a token; see [TextError].
	ErrToken = errors.New("position: not a token")
	// ErrTooLarge means that a token has too many writers or too long a text to be
	// written; see [MaxText] and [MaxWriters].
	ErrTooLarge = errors.New("position: token is too large to be written")
	// ErrForeign means that a token was made by another store, or by the same one
	// before it was restored.
	ErrForeign = errors.New("position: token is of another store")
)

// Errors of writers. Each comes as a [WriterError].
var (
	// ErrUnknown means that no such writer was admitted. It is an error of waiting
	// too: nothing would end the wait.
	ErrUnknown = errors.New("position: writer was never admitted")
	// ErrLive means that the writer is alive: it has to leave or be fenced before
	// another can have its name.
	ErrLive = errors.New("position: a writer of this name is alive")
	// ErrFenced means that the epoch is over.
	ErrFenced = errors.New("position: the writer's epoch is over")
	// ErrOpen means that the writer cannot leave, as it has positions that are not
	// finished.
	ErrOpen = errors.New("position: the writer has open positions")
	// ErrNotOpen means that a position to be finished is not reserved, or was
	// finished before.
	ErrNotOpen = errors.New("position: the position is not open")
	// ErrAllocator means that the numbers drawn cannot be used: not as many as
	// asked for, or not above all that were known before they were drawn.
	ErrAllocator = errors.New("position: unusable numbers from the allocator")
	// ErrTooMany means that more than [MaxWriters] would be alive at once.
	ErrTooMany = errors.New("position: too many writers")
)

// WriterError says which writer broke which rule. It unwraps to one of the errors
// of writers.
type WriterError struct {
	Writer Writer
	Epoch  Epoch  // the epoch asked for, 0 where there is none
	Err    error  // one of the errors of writers
	Detail string // what was found, may be empty
}

func (e *WriterError) Error() string {
	s := fmt.Sprintf("%v: writer %d", e.Err, e.Writer)
	if e.Epoch != 0 {
		s += fmt.Sprintf(" in epoch %d", e.Epoch)
	}
	if e.Detail != "" {
		s += ", " + e.Detail
	}
	return s
}

func (e *WriterError) Unwrap() error { return e.Err }

// TextError says where a text stops being a token, and why. It is an [ErrToken].
type TextError struct {
	Text   string // the text, cut after 64 bytes
	Offset int    // where in the text, in bytes
	Cause  string
}

func (e *TextError) Error() string {
	return fmt.Sprintf("position: not a token: byte %d of %q: %s", e.Offset, e.Text, e.Cause)
}

// Is reports whether target is [ErrToken].
func (e *TextError) Is(target error) bool { return target == ErrToken }

func textError(text string, offset int, cause string) *TextError {
	return &TextError{Text: text[:min(len(text), 64)], Offset: offset, Cause: cause}
}
