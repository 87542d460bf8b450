package materializer

import (
	"context"

	"github.com/refold-go/refold/store"
)

// Forget erases a document for good, as the right to erasure wants it: its
// operations, its view and its record of failures. What is left is a hash that
// refuses the id for ever: appending to it, and reading it, is [ErrForgotten]. A
// run in hand cannot bring it back, and who waits for its view gets that error
// too. It is not an error if the document does not exist: its id is refused then
// all the same. Errors: [ErrTraces] if the document is gone but its bytes could
// not be removed from disk before ctx ended; calling it again tries that again.
// Others are those of the store.
func (c *Collection[S, O]) Forget(ctx context.Context, id string) error {
	key := c.key(id)
	if err := store.CheckKey(key); err != nil {
		return err
	}
	err := c.m.st.Forget(ctx, key)
	// Who waits looks by itself whether it is gone.
	c.m.waits.notify(key)
	return err
}

// Drop removes a collection with all its documents. If it is interrupted, calling
// it again goes on. Ids that were forgotten in it stay refused. The collection
// must not be registered here, so that nothing of it can be in hand; a process
// that has it registered must not run. It is not an error if there is none.
// Errors: [ErrInvalid] if it is registered, and those of the store.
func (m *Materializer) Drop(ctx context.Context, collection string) error {
	if err := store.CheckCollection(collection); err != nil {
		return err
	}
	if m.registered(collection) {
		return &InvalidError{Field: "collection to drop", Got: collection + ", which is registered here", Want: "one that is not"}
	}
	return m.st.Drop(ctx, collection)
}
