package materializer

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// Changed is a document whose view changed, or that parked.
type Changed[S any] struct {
	// View is the document as it was when it was read, at this change or a later one.
	View[S]
	// Cursor is the place of the change. Changes after it goes on from here.
	Cursor Cursor
	// History tells that everything which came into the view since this follower was
	// given the document was appended as history; see [Change.AsHistory]. It is old news:
	// who sends notifications sends none. In a backlog it may be false although that is
	// so; it is never true of what is new to the follower, if that goes on from the
	// cursors that it was given.
	History bool
}

// LastChange returns the cursor of the last change of a view, of any collection.
// [Collection.Changes] from it returns what changes from now on.
func (m *Materializer) LastChange(ctx context.Context) (Cursor, error) { return m.st.LastChange(ctx) }

// Changes returns the documents of the collection whose views changed, or that
// parked, after a cursor, whichever process made them, in order of change: first what
// is there already, then what comes, without a gap. It waits for what comes until ctx
// ends. The zero cursor is before everything, so that each document with a view is
// returned.
//
// Each is returned with its latest view: a document that changed several times
// since the loop came by is returned once. A deleted one comes with Deleted set.
// What is returned may come again; a follower that stores what it got together with
// the cursor, and begins with that cursor the next time, gets the last state of every
// document, and misses none over restarts, slow readers, power cuts and other
// processes. A run that fails without parking its document changes nothing, and neither
// does resuming one: Parked is false again with the next change. A document
// that is forgotten is not told: who copies views elsewhere has to erase it there too.
//
// Errors end the stream: [ErrForeignToken] and [ErrFutureToken] for the cursor, at
// once; the cause of ctx; [ErrNotRunning] when Run of this materializer has
// returned, behind all that it stored; those of the store. If a view cannot be
// decoded, the error comes with the document's ID and cursor, so that a follower can
// go on behind it. The stream may be read several times, also at once.
func (c *Collection[S, O]) Changes(ctx context.Context, from Cursor) iter.Seq2[Changed[S], error] {
	return func(yield func(Changed[S], error) bool) {
		w := &wait{wake: make(chan struct{}, 1)}
		defer c.m.listen(ctx, w, func(k Key) bool { return k.Collection == c.spec.Name })()
		for last, ended := from, error(nil); ; {
			for change, err := range c.m.st.Changes(ctx, c.spec.Name, last, store.WithViews) {
				var changed Changed[S]
				if err == nil {
					last = change.Cursor
					changed, err = c.changed(change)
				}
				if !yield(changed, err) || err != nil {
					return
				}
			}
			if ended != nil {
				yield(Changed[S]{}, ended)
				return
			}
			ended = c.m.woken(ctx, w)
			if ctx.Err() != nil {
				yield(Changed[S]{}, fmt.Errorf("refold: following %s: %w", c.spec.Name, context.Cause(ctx)))
				return
			}
		}
	}
}

// woken waits until there may be changes, or ctx ends, or Run has returned: then it
// returns the error that says so. Which of them it was does not depend on chance if
// there are several.
func (m *Materializer) woken(ctx context.Context, w *wait) (ended error) {
	select {
	case <-w.wake:
	case <-m.ended:
	case <-ctx.Done():
	}
	yield.At(ctx, "woken to follow")
	select {
	case <-w.wake: // the store is looked at in any case
	default:
	}
	select {
	case <-m.ended:
		return m.notRunning()
	default:
		return nil
	}
}

// ChangesSoFar is [Collection.Changes] without waiting: it returns what has changed
// after a cursor by the time the loop begins, and ends. What changes again meanwhile
// is left to the next call, so that it comes to an end however busy the collection is.
// The cursor of the last document that it returned is where to go on; if it returned
// none, from is. Errors as for Changes, but for [ErrNotRunning].
func (c *Collection[S, O]) ChangesSoFar(ctx context.Context, from Cursor) iter.Seq2[Changed[S], error] {
	return func(yield func(Changed[S], error) bool) {
		until, err := c.m.st.LastChange(ctx)
		if err != nil {
			yield(Changed[S]{}, err)
			return
		}
		for change, err := range c.m.st.Changes(ctx, c.spec.Name, from, store.WithViews) {
			if err == nil && until.Before(change.Cursor) {
				return
			}
			var changed Changed[S]
			if err == nil {
				changed, err = c.changed(change)
			}
			if !yield(changed, err) || err != nil {
				return
			}
		}
	}
}

func (c *Collection[S, O]) changed(change store.Change) (Changed[S], error) {
	view, err := c.view(change.Document)
	if err != nil {
		view = View[S]{ID: change.Document.Key.ID}
	}
	return Changed[S]{View: view, Cursor: change.Cursor, History: change.History}, err
}

// listen wakes w when the result of a run of a document that matches was stored, by
// this process, and when somebody else may have stored one. The function it
// returns ends it.
func (m *Materializer) listen(ctx context.Context, w *wait, matches func(Key) bool) (stop func()) {
	deaf := m.st.Listen(store.Listener{
		Committed: func(keys []store.Key) {
			if slices.ContainsFunc(keys, matches) {
				w.notify()
			}
		},
		Switched: func(string) { w.notify() },
		Closed:   w.notify,
	})
	f, ok := m.st.(store.Follower)
	if !ok {
		return deaf
	}
	ctx, cancel := context.WithCancel(ctx)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		defer w.notify()
		ctx := yield.Start(ctx, "hear", 0)
		for seen := uint64(0); ; {
			next, err := f.Follow(ctx, seen)
			if err != nil {
				return
			}
			seen = next
			w.notify()
		}
	}()
	return func() {
		deaf()
		cancel()
		<-followed
	}
}
