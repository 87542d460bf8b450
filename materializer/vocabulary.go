package materializer

import (
	"errors"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// Words of package store that users of this package need.
type (
	// Token is a cut through the log: "at least this much".
	Token = store.Token
	// Cursor is a place in the feed of changes.
	Cursor = store.Cursor
	// Appended tells where operations went.
	Appended = store.Appended
	// Key names a document.
	Key = store.Key
	// FutureTokenError says how far the log is.
	FutureTokenError = store.FutureTokenError
	// FutureCursorError says how far the feed of changes is.
	FutureCursorError = store.FutureCursorError
	// InvalidError says which input breaks which rule.
	InvalidError = store.InvalidError
	// ConflictError names the expected and the actual head.
	ConflictError = store.ConflictError
	// IDReusedError names the operation that has the id.
	IDReusedError = store.IDReusedError
	// VersionError names the stored and the registered version.
	VersionError = store.VersionError
	// PanicError is what a panic in a fold becomes, with its stack.
	PanicError = worker.PanicError
)

// ParseToken reads the text form of a token. Errors: [ErrInvalid].
func ParseToken(s string) (Token, error) { return store.ParseToken(s) }

// ParseCursor reads the text form of a cursor. Errors: [ErrInvalid].
func ParseCursor(s string) (Cursor, error) { return store.ParseCursor(s) }

// Errors of appending. After each of them nothing is stored, but for ErrInDoubt.
var (
	ErrInDoubt  = store.ErrInDoubt
	ErrInvalid  = store.ErrInvalid
	ErrConflict = store.ErrConflict
	ErrIDReused = store.ErrIDReused
	ErrBusy     = store.ErrBusy
	ErrFull     = store.ErrFull
	// ErrForgotten is also one of reading: the document was erased.
	ErrForgotten = store.ErrForgotten
	ErrNested    = store.ErrNested
)

// Errors of reading and waiting.
var (
	ErrNotFound     = store.ErrNotFound
	ErrDeleted      = store.ErrDeleted
	ErrParked       = store.ErrParked
	ErrForeignToken = store.ErrForeignToken
	ErrFutureToken  = store.ErrFutureToken
	// ErrNotRunning ends what waits when Run has returned. Its cause is wrapped
	// beside it.
	ErrNotRunning = errors.New("refold: materializer is not running")
)

// Errors of the life of a materializer.
var (
	ErrClosed  = store.ErrClosed
	ErrClaimed = store.ErrClaimed
	ErrVersion = store.ErrVersion
	// ErrStarted means that Run was called before, or that Register was called
	// after it.
	ErrStarted = errors.New("refold: materializer was started before")
	// ErrHindered means that something is in the way of serving a generation; see
	// [HinderedError].
	ErrHindered = errors.New("refold: cannot serve version")
	// ErrUnsupported means that the store does not have the role that is needed.
	ErrUnsupported = errors.New("refold: store does not support this")
	// ErrLeaseLost is how the run of a document ends that another process has taken
	// over; see [Config].
	ErrLeaseLost = store.ErrLeaseLost
	// ErrTraces means that a document is forgotten, but that its bytes could not be
	// removed yet.
	ErrTraces = store.ErrTraces
	// ErrOverlooked is what [Materializer.Health] says of a dirty document that
	// nobody works on; see [OverlookedError].
	ErrOverlooked = errors.New("refold: a document is dirty and nobody works on it")
)

// Reasons for which a fold fails without the application's doing.
var (
	// ErrTimeLimit means that one run of one document took longer than it may.
	ErrTimeLimit = worker.ErrTimeLimit
	// ErrGoexit means that a fold ended its goroutine, as FailNow of a test does.
	ErrGoexit = worker.ErrGoexit
	// ErrDamaged means that the store does not have what it must have of a document.
	// It parks the document.
	ErrDamaged = store.ErrDamaged
	// ErrUnknownKind means that an operation's kind is not one of the codec's. It
	// parks the document: an operation is never skipped.
	ErrUnknownKind = errors.New("refold: unknown kind of operation")
)

// Causes of the end of a context.
var (
	// ErrGraceOver ends the work of runs that went on when the grace was over.
	ErrGraceOver = worker.ErrGraceOver
)
