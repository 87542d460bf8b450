package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/refold-go/refold/store/position"
)

// Errors of appends and commits. After each of them nothing is stored, but for
// ErrInDoubt.
var (
	// ErrInDoubt means that the commit itself failed, so that it is unknown
	// whether anything is stored. Sending the same again, with the same operation
	// ids, is safe.
	ErrInDoubt = errors.New("refold: in doubt whether it is stored")
	// ErrInvalid means that the input breaks a rule; see [InvalidError].
	ErrInvalid = errors.New("refold: invalid input")
	// ErrConflict means that a document's head is not the expected one; see
	// [ConflictError].
	ErrConflict = errors.New("refold: head is not the expected one")
	// ErrIDReused means that an operation id was used for another operation; see
	// [IDReusedError].
	ErrIDReused = errors.New("refold: operation id was used with another body")
	// ErrBusy means that the context ended before the store could write.
	ErrBusy = errors.New("refold: store is busy, nothing was stored")
	// ErrFull means that there is no room left.
	ErrFull = errors.New("refold: no space left, nothing was stored")
	// ErrForgotten means that the document was erased, and that its id is refused
	// for ever.
	ErrForgotten = errors.New("refold: document was forgotten")
	// ErrNested means that a call that writes was made inside of Update with its
	// context.
	ErrNested = errors.New("refold: a write inside of Update would wait for itself")
)

// Errors of reading.
var (
	// ErrNotFound means that there is no such thing: a document that has no
	// operations, an operation that was never appended, an unknown collection.
	ErrNotFound = errors.New("refold: not found")
	// ErrDeleted means that the document's fold said that it is deleted.
	ErrDeleted = errors.New("refold: document is deleted")
	// ErrParked means that the document's fold failed for good.
	ErrParked = errors.New("refold: document is parked")
	// ErrForeignToken means that the token or cursor was made by another store, or
	// by the same one before it was restored from a backup.
	ErrForeignToken = position.ErrForeign
	// ErrFutureToken means that the token is beyond the end of the log, or the cursor
	// beyond that of the feed; see [FutureTokenError] and [FutureCursorError].
	ErrFutureToken = errors.New("refold: token is beyond the end of the log")
)

// Errors of the life of a store.
var (
	// ErrClosed means that the store is closed.
	ErrClosed = errors.New("refold: store is closed")
	// ErrClaimed means that another materializer works on the store.
	ErrClaimed = errors.New("refold: another materializer works on this store")
	// ErrLeaseLost means that another materializer may have the document now, so that
	// the result of a run was not stored; see [Leaser].
	ErrLeaseLost = errors.New("refold: lease was lost, the result was not stored")
	// ErrFenced means that the writer of this handle was declared dead; see
	// [Writers]. Nothing was stored, and the store has to be opened again.
	ErrFenced = position.ErrFenced
	// ErrTraces means that a document is forgotten, but that its bytes could not be
	// removed yet, most often because somebody is reading the store.
	ErrTraces = errors.New("refold: document is forgotten, but traces of it are left")
	// ErrDamaged means that the store does not have what it must have, or has what it must
	// not have.
	ErrDamaged = errors.New("refold: store is damaged")
	// ErrVersion means that a collection is stored at another version; see
	// [VersionError].
	ErrVersion = errors.New("refold: collection is stored at another version")
)

// InvalidError says which input breaks which rule. It is an [ErrInvalid].
type InvalidError struct {
	// Field names the input, like "document id" or "operation 3 for notes/n1: body".
	Field string
	// Got is what was wrong with it, Want is the rule.
	Got, Want string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("refold: %s: %s, want %s", e.Field, e.Got, e.Want)
}

// Is reports whether target is [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// ConflictError names the head that was found. It is an [ErrConflict].
type ConflictError struct {
	Key              Key
	Expected, Actual int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("refold: head of %s is %d, expected %d", e.Key, e.Actual, e.Expected)
}

// Is reports whether target is [ErrConflict].
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// IDReusedError names the operation that has the id. It is an [ErrIDReused].
type IDReusedError struct {
	Key Key
	ID  string
	// Seq is the operation that has the id; 0 if it is another entry of the same
	// call.
	Seq int64
}

func (e *IDReusedError) Error() string {
	if e.Seq == 0 {
		return fmt.Sprintf("refold: operation id %q of %s is given twice in one append with different kinds or bodies", e.ID, e.Key)
	}
	return fmt.Sprintf("refold: operation id %q of %s is that of seq %d, which has another kind or body", e.ID, e.Key, e.Seq)
}

// Is reports whether target is [ErrIDReused].
func (e *IDReusedError) Is(target error) bool { return target == ErrIDReused }

// CycleError names the collections of a cycle of sources, each made of the next, the
// first one at the end again. It is an [ErrInvalid].
type CycleError struct{ Path []string }

func (e *CycleError) Error() string {
	return "refold: derived collections in a cycle: " + strings.Join(e.Path, " is made of ")
}

// Is reports whether target is [ErrInvalid].
func (e *CycleError) Is(target error) bool { return target == ErrInvalid }

// VersionError names both versions of a collection. It is an [ErrVersion].
type VersionError struct {
	Collection         string
	Stored, Registered int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("refold: collection %s is stored at version %d and was registered at version %d, of which it has no generation",
		e.Collection, e.Stored, e.Registered)
}

// Is reports whether target is [ErrVersion].
func (e *VersionError) Is(target error) bool { return target == ErrVersion }
