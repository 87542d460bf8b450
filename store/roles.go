package store

import (
	"context"
	"database/sql"
	"io"
	"iter"
)

// Backend is what a materializer needs of a store.
type Backend interface {
	Store
	Registrar
	Resolver
	Claimer
	Parking
	Announcer
	// Close waits for the calls in hand and releases everything. Calling it again
	// does nothing and returns nil.
	io.Closer
}

// Registrar keeps which collections there are.
type Registrar interface {
	// Register makes the collection, or gives the version to one that has only
	// been appended to. If the store has the collection at another version it
	// changes nothing and returns a [*VersionError]. version is 1 or more.
	Register(ctx context.Context, name string, version int) error

	// Collections returns all collections in order of name.
	Collections(ctx context.Context) ([]Collection, error)
}

// Collection is what a store knows of a collection.
type Collection struct {
	Name string
	// Version is the version of the fold; 0 if nobody has registered it yet.
	Version int
}

// Resolver answers what a token means.
type Resolver interface {
	// Resolve returns for each key the document's highest seq at or below the
	// token, 0 if there is none. The zero token resolves to 0. A token of another
	// store is [ErrForeignToken], one beyond the end of the log
	// [ErrFutureToken].
	Resolve(ctx context.Context, token Token, keys []Key) ([]int64, error)

	// End returns a token that covers all that is in the log.
	End(ctx context.Context) (Token, error)
}

// Claimer lets one materializer at a time work on a store.
type Claimer interface {
	// Claim gives the store to the caller until release is called, the store is
	// closed or the process ends. It does not wait: if the store is taken, by this
	// process or another, it returns [ErrClaimed]. Calling release again does
	// nothing.
	Claim(ctx context.Context) (release func() error, err error)
}

// Parking shows and resumes documents whose fold failed for good.
type Parking interface {
	// Parked returns the parked documents of a collection in order of id, without
	// their views.
	Parked(ctx context.Context, collection string) iter.Seq2[Document, error]

	// Resume makes parked documents runnable again. The record of what went wrong
	// stays until a run went well, with no attempts. It returns how many were
	// parked; the others are not touched. It is as durable as an append.
	Resume(ctx context.Context, keys []Key) (int, error)
}

// Follower is the role of a store in which documents can become dirty without
// this handle announcing it: by another process, or another connection.
type Follower interface {
	// Follow waits until something may have been appended so, and returns a
	// number to pass to the next call. It returns at once if that has happened
	// since the call that returned after; the first call passes 0 and returns at
	// once. It notices within a second and may wake for nothing.
	Follow(ctx context.Context, after uint64) (uint64, error)
}

// Transactor is the role of a store that shares its database with tables of the
// application.
type Transactor interface {
	// Update runs fn in a transaction on the store's own writing connection, so
	// that no other writer is in the way, and commits if fn returns nil. It is as
	// durable as an append. fn must not commit or roll back by itself, and must
	// pass on the context it is given; on that context Append fails with
	// [ErrNested] instead of waiting for itself. The transaction ends with fn; a
	// panic rolls it back. Errors as in [Store.Append]; an error of fn is
	// returned as it is, and nothing is stored.
	Update(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error

	// AppendTx appends in a transaction of the application: the one of Update, or
	// one that it began itself on the same database. Whether that is so, and that
	// the connection syncs as much as the store's options promise, is checked
	// first: [ErrInvalid] if not. An append that is refused leaves the transaction
	// as it was. The entries are stored when tx commits; the token is void if it
	// does not. ctx must be the one that fn was given, if tx is
	// that of Update: then the documents are announced when it has committed.
	AppendTx(ctx context.Context, tx *sql.Tx, appends []Append) (Appended, error)
}
