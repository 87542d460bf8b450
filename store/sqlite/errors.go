package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"github.com/refold-go/refold/store"
)

// Errors of opening. After each of them the file is as it was.
var (
	// ErrNotDatabase means that the file is no SQLite database.
	ErrNotDatabase = errors.New("refold: file is not a SQLite database")
	// ErrSchema means that the file has tables of Refold with a schema that is
	// unknown here; see [SchemaError].
	ErrSchema = errors.New("refold: schema of the file is not known")
	// ErrRenewed means that the store was renewed under this handle; see [Renew].
	// Nothing was stored, and the file has to be opened again.
	ErrRenewed = errors.New("refold: file was renewed after a restore, it has to be opened again")
)

// SchemaError tells which schema a file has. It is an [ErrSchema].
type SchemaError struct {
	Path string
	// Found is the version in the file; 0 if it has tables named refold_… that
	// are not those of any version.
	Found int
	// Expected is the highest version known here.
	Expected int
}

func (e *SchemaError) Error() string {
	if e.Found == 0 {
		return fmt.Sprintf("refold: %s has tables named refold_… of an unknown shape, expected schema version %d or lower", e.Path, e.Expected)
	}
	return fmt.Sprintf("refold: %s has schema version %d, expected version %d or lower: it was written by a newer version of Refold", e.Path, e.Found, e.Expected)
}

// Is reports whether target is [ErrSchema].
func (e *SchemaError) Is(target error) bool { return target == ErrSchema }

// A statementError is the failure of a statement, as opposed to the refusal of a
// request: what its transaction has written so far must not be committed.
type statementError struct {
	what string // what the statement is for
	err  error
}

func (e *statementError) Error() string { return fmt.Sprintf("refold: sqlite: %s: %v", e.what, e.err) }
func (e *statementError) Unwrap() error { return e.err }

// errMissing means that a counter is not there, as in a damaged file.
var errMissing = errors.New("the file is damaged: a row of refold_meta is missing")

// code returns SQLite's primary result code in err, 0 if there is none.
func code(err error) sqlite3.ErrNo {
	if e, ok := errors.AsType[sqlite3.Error](err); ok {
		return e.Code
	}
	return 0
}

// classify gives the failure of a statement the sentinel that callers look for.
// Nothing is stored after any of them.
func classify(err error) error {
	switch code(err) {
	case sqlite3.ErrFull:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return fmt.Errorf("%w: %w", store.ErrBusy, err)
	}
	return err
}

// withdrawn is the error of a caller whose context ended before its rows were
// written.
func withdrawn(ctx context.Context) error {
	return fmt.Errorf("%w: %w", store.ErrBusy, context.Cause(ctx))
}
