package store

import (
	"context"
	"database/sql"
	"io"
	"iter"
	"time"
)

// Backend is what a materializer needs of a store.
type Backend interface {
	Store
	Registrar
	Resolver
	Log
	Feed
	Claimer
	Leaser
	Parking
	Announcer
	Pauser
	Censor
	Eraser
	Generator
	Deriver
	// Close waits for the calls in hand and releases everything. Calling it again
	// does nothing and returns nil.
	io.Closer
}

// Registrar keeps which collections there are.
type Registrar interface {
	// Register makes the collection, or gives the version to one that has only
	// been appended to. If the collection has a generation of this version that lives
	// it changes nothing. A version that is higher than the one that is served and any
	// one that is being built starts a generation, see [Generator], which takes the place of
	// the one that was being built; any other one is a [*VersionError], and nothing is
	// changed. version is 1 or more. It is as durable as an append.
	Register(ctx context.Context, name string, version int) error

	// Collections returns all collections in order of name.
	Collections(ctx context.Context) ([]Collection, error)
}

// Collection is what a store knows of a collection.
type Collection struct {
	Name string
	// Version is the version of the fold whose views are served; 0 if nobody has
	// registered it yet.
	Version int
	// Paused tells that its documents are held back, see [Pauser].
	Paused bool
	// Held is for how long what is served is held yet, see [Generator]; 0 if it is not.
	Held time.Duration
	// Derived tells that it is made from others, see [Deriver]. Sources are those of the
	// generation that is served, in order; nil if that is of nobody yet.
	Derived bool
	Sources []string
}

// Resolver answers what a token means.
type Resolver interface {
	// Resolve returns for each key the document's highest seq at or below the
	// token, 0 if there is none. The zero token resolves to 0. A token of another
	// store is [ErrForeignToken], one beyond the end of the log a
	// [*FutureTokenError].
	Resolve(ctx context.Context, token Token, keys []Key) ([]int64, error)

	// End returns a token that covers all that is in the log. That of an empty log
	// covers nothing, and is not the zero token: it is of this store.
	End(ctx context.Context) (Token, error)
}

// Claimer lets one materializer at a time work on a store, and tells it how the
// last one ended.
type Claimer interface {
	// Claim gives the store to the caller until the claim is released, the store is
	// closed or the process ends. It does not wait: if the store is taken, by this
	// process or another, it returns [ErrClaimed]. Claiming leaves a mark in the
	// store, and releasing takes it away, both as durable as an append.
	Claim(ctx context.Context) (Claim, error)
}

// Claim is a store in the hands of a materializer.
type Claim struct {
	// Unclean tells that the last claim ended without Release: its process was
	// killed, or brought down by what it did, or has closed the store before. A
	// store whose content does not outlive its process never says so.
	Unclean bool
	// End is the position of the last operation in the log when the claim was made.
	// After an unclean end, what the process may have been working on when it ended
	// is dirty since there or before.
	End Position
	// Holder is the name under which this claim leases documents, see [Leaser]; no
	// other claim has or will have it.
	Holder string
	// Release gives the store back and takes the mark away. If the mark cannot be
	// taken away it returns why, and the store is given back all the same; after
	// Close that is [ErrClosed]. Calling it again does nothing and returns nil.
	Release func() error
	// Abandon gives the store back and leaves the mark, so that the next claim is
	// unclean too. After Release, and after itself, it does nothing and returns nil,
	// as Release does after it.
	Abandon func() error
}

// Parking shows documents whose fold failed for good, and lets them go on.
type Parking interface {
	// Parked returns the parked documents of a collection in order of id, without
	// their views.
	Parked(ctx context.Context, collection string) iter.Seq2[Document, error]

	// Resume makes parked documents runnable again. The record of what went wrong
	// stays until a run went well, with no attempts. It returns how many were
	// parked; the others are not touched. It is as durable as an append.
	Resume(ctx context.Context, keys []Key) (int, error)

	// Discard marks one operation of a document as discarded, on the record: it
	// stays in the log, is read with Discarded set, and every fold passes over it
	// from then on. If the document is parked at that operation it is resumed. It
	// is as durable as an append, and makes runs in hand stale. Errors:
	// [InvalidError] if [CheckDiscard] or [CheckBare] says so, [ErrNotFound] if the document does
	// not have the operation, [InvalidError] if its view contains it already. In a
	// generation that is not served, a view that contains it is removed, and the
	// document is dirty there from its first operation on. Discarding again changes
	// nothing and returns nil.
	Discard(ctx context.Context, d Discard) error

	// Discards returns the record of a collection, in the order of its documents'
	// ids and of seq.
	Discards(ctx context.Context, collection string) iter.Seq2[Discard, error]
}

// Discard is the record of an operation that every fold passes over.
type Discard struct {
	Key Key
	Seq int64
	// By and Why say who discarded it and for what reason.
	By, Why string
	// At is the store's clock then. It is not read by [Parking.Discard].
	At time.Time
}

// Pauser holds back the documents of whole collections.
type Pauser interface {
	// Pause holds back the documents of a collection, or lets them go: while it is
	// paused none of them is runnable. It can be appended to and read. It survives a
	// restart, and is as durable as an append. Errors: [InvalidError] if [CheckBare]
	// says so, [ErrNotFound] if there is no such collection.
	Pause(ctx context.Context, collection string, paused bool) error
}

// Censor counts documents.
type Censor interface {
	// Count returns how many documents a collection has in each state, and which
	// one is behind for the longest time. It takes time in proportion to the dirty
	// documents. An unknown collection has none.
	Count(ctx context.Context, collection string) (Counts, error)
}

// Counts are the documents of a collection by state.
type Counts struct {
	// Dirty are those that are dirty and not parked, those that wait after a
	// failure among them; Waiting are only these. Parked are the parked ones.
	Dirty, Waiting, Parked int64
	// Oldest is the dirty document, not parked, that lacks the oldest operation;
	// OldestParked is the same among the parked ones. Each has a zero Key if there
	// is none.
	Oldest, OldestParked Runnable
}

// Eraser removes documents for good.
type Eraser interface {
	// Forget erases a document: its operations, view and failure, and its id. What
	// is left is a hash that refuses the id for ever: an append to it is
	// [ErrForgotten]. When it returns nil, nothing of the document is found in what
	// the store keeps on disk, but for what the file system keeps of blocks that
	// it gave back. A backend for which that costs too much in a large store has an
	// option for it, and says what may be left otherwise. It is as durable as an append. It is not an error if the
	// document does not exist: its id is refused from then on all the same. If the
	// document is gone but traces of it could not be removed, because ctx ended or
	// for another cause, the error is [ErrTraces]; calling it again tries that
	// again. A run in hand cannot bring the document back: its commit is stale.
	// Errors: [InvalidError] for a key that [CheckKey] refuses.
	Forget(ctx context.Context, key Key) error

	// Forgotten reports whether the document was forgotten.
	Forgotten(ctx context.Context, key Key) (bool, error)

	// Drop removes a collection with its registration and all its documents. From
	// its first moment on there is no such collection for any other call, and runs
	// in hand are stale; an append makes a new one, not registered and not paused,
	// which this call leaves alone. The content is removed in slices. If that is
	// interrupted, calling it again goes on, for this name or any other. Ids that
	// were forgotten stay refused. It is as durable as an append. It is not an
	// error if there is no such collection. Errors: [InvalidError] if [CheckBare]
	// says so.
	Drop(ctx context.Context, collection string) error
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

// Checker is the role of a store that can say whether it is well.
type Checker interface {
	// Check returns nil, or what is wrong with the store: a write-ahead log that
	// only grows, a disk that is full, a connection that is lost. It is cheap
	// enough to be called every second.
	Check(ctx context.Context) error
}

// DerivedChecker is the role of a store that can look through what it keeps of derived collections.
type DerivedChecker interface {
	// CheckDerived returns nil, or an [ErrDamaged] for each kind of thing that cannot be: a contribution
	// to a document or of a source document that is not there, unless that is still to be
	// mapped; a reading without a reader, or the other way round; a delta of no document, or
	// not one of those that its document lacks; a round of a mapping's document that is over, or not begun.
	// It looks at all that there is at one moment, in time in proportion to it, changes nothing, and may
	// be called at any time. What is being removed is passed over.
	CheckDerived(ctx context.Context) error
}

// Resident is the role of a store that is in the memory of the process, so that reading
// costs a copy and no more: a materializer keeps no views or operations beside it.
type Resident interface {
	// Resident does nothing: that it is there says all.
	Resident()
}
