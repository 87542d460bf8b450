package store

import (
	"context"

	"github.com/refold-go/refold/store/position"
)

// Writers is the role of a backend to whose log many writers append at once: a
// handle each, mostly in processes of their own, that draw positions from one
// counter and commit in any order. A store with one contiguous log, where positions
// are in order of commit, does not have it.
//
// What holds of such a store besides the rest of the contract:
//
//   - An append draws its positions when all else is done, while nobody else can
//     append to its documents, so that in one document positions rise with seq; and
//     it is covered by the tracker from before it draws until it has ended, well or
//     not (see [position.Member.Do]). Positions may have gaps.
//   - The token of an append covers what it stored, and nothing that was not complete:
//     of several appends that one writer has under way, each returns when those that
//     drew before it have ended.
//   - [Resolver.End] covers only what is complete: nothing at or before it becomes
//     visible later. It never goes back, and an idle writer does not hold it back.
//   - [Resolver.Resolve] returns the highest seq whose position the token includes,
//     each measured by its writer.
//   - [Log.Log] returns what lies between the two tokens, each operation measured by
//     its writer, in order of position. Who goes on from token to token gets each
//     operation exactly once.
//   - A token that names a writer which never was is a [*FutureTokenError].
//   - Positions are in no order of what a token includes: a document that lacks
//     nothing of it may be dirty since a lower position than one that does. Who looks
//     for the latter goes on to the token's greatest number, see [position.Token.Max].
type Writers interface {
	// Writer returns the writer of this handle, and the epoch of its life. Opening a
	// handle gives its writer an epoch that is greater than all it had; two that are
	// alive never are the same writer.
	Writer() (Writer, position.Epoch)

	// Standings returns what is stored of each writer that ever was, by ascending
	// writer.
	Standings(ctx context.Context) ([]position.Standing, error)

	// Fence declares a writer dead in all its epochs up to and including the one
	// given, and returns the holes that it left, which are then nobody's and hold
	// back no token. What it has under way is refused when it tries to commit: its
	// appends end with [ErrFenced], and so does every later one of its handle. Others
	// can append to its documents at once, also before it gets to know. Whether the
	// process is dead is the caller's judgement; nothing of the writer can become
	// visible when Fence has returned, whether it was right or not. It is as durable
	// as an append, and may be repeated. Errors: [ErrNotFound] if there was no such
	// writer, [ErrFenced] if it has a greater epoch.
	Fence(ctx context.Context, w Writer, epoch position.Epoch) ([]position.Hole, error)
}
