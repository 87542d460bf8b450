package store

import (
	"context"
	"iter"
)

// Log reads the whole log.
type Log interface {
	// Log returns the operations of all documents that are after one token and up
	// to another, each exactly once, in order of position; those of one document
	// are in order of seq. The zero token as to means the end of the log when the
	// loop begins. Operations of documents that are erased are left out. Nothing that
	// from covers becomes visible after from was given out, so that nobody who goes on
	// from where a loop ended misses any. Errors: [ErrForeignToken],
	// [*FutureTokenError].
	Log(ctx context.Context, from, to Token) iter.Seq2[Logged, error]
}

// Logged is an operation of some document.
type Logged struct {
	Key Key
	// Token covers what the loop began behind and all that it has returned, this
	// operation included, and nothing else: who stops here goes on from it.
	Token Token
	Operation
}

// Feed is the role of telling which documents changed, durably and in order.
//
// Each commit that moves Applied, or parks, gives its document the next number of one
// counter of the store. A number that a caller may have seen is never given again, also
// after a power cut that took the commit: its documents are dirty then, and get
// higher numbers when they are folded again.
type Feed interface {
	// Changes returns the documents of a collection whose views changed, or that
	// parked, after a cursor, each at least once and as it was when it was read, in
	// order of their last change: cursors rise. It ends when there are no more; a
	// document that changes during the loop may come again. The zero cursor returns
	// every document that ever changed. A document that is erased is not told. When
	// another generation is served, all documents that it has are returned to whoever
	// follows the collection by its name; see [Generator].
	//
	// Every cursor that this method or [Feed.LastChange] ever returned is good as long
	// as the store has the same [Incarnation], whatever happened to it since. Errors:
	// [ErrForeignToken], [*FutureCursorError] for one that no call can have returned.
	Changes(ctx context.Context, collection string, after Cursor, parts Parts) iter.Seq2[Change, error]

	// LastChange returns the cursor of the last change so far. [Feed.Changes] after
	// it returns what changes from now on.
	LastChange(ctx context.Context) (Cursor, error)
}

// Change is a document whose view changed.
type Change struct {
	Document Document
	// Cursor is the place of its last change.
	Cursor Cursor
	// History tells that nothing new came in that whoever reads the feed, from loop to
	// loop, was not given: all operations that came into the view since were appended
	// as history, and it did not park. In a loop that has not come to the end of what
	// was there it may be false although that is so. A cursor carries up to where
	// everything was returned, so that it is right also for who stopped in the middle.
	History bool
}
