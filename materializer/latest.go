package materializer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// Latest returns the document with all operations that it has now: the stored
// view and what comes after, folded by the caller. It is that of the collection's own
// fold, also while another version is served. Nothing is stored. It is for
// deciding on a command, together with [Change.ExpectHead] of the view's Head.
// Errors: [ErrNotFound]; [ErrForgotten]; [ErrDeleted], with all of the view but a
// state; a [*FoldError] if the fold fails, with the state before the operation
// that failed; those of the store.
func (c *Collection[S, O]) Latest(ctx context.Context, id string) (View[S], error) {
	key := c.key(id)
	if err := store.CheckKey(key); err != nil {
		return View[S]{}, err
	}
	doc, err := c.ownDocument(ctx, id)
	if err != nil {
		return View[S]{}, err
	}
	if doc.Head == 0 {
		return View[S]{}, c.m.gone(ctx, key)
	}
	view, err := c.view(doc)
	if err != nil {
		return View[S]{}, err
	}
	for op, err := range store.ReadOperations(ctx, c.m.st, key, doc.Applied+1) {
		if err != nil {
			return View[S]{}, err
		}
		if err := c.step(&view, op); err != nil {
			before, err2 := c.replay(ctx, doc, op.Seq-1)
			return before, errors.Join(err, err2)
		}
	}
	view.Head = view.Applied
	return view, view.deleted(key)
}

// ownDocument loads a document of the generation that the fold of c makes. Where that
// does not have it yet, or not any more, nothing is applied.
func (c *Collection[S, O]) ownDocument(ctx context.Context, id string) (store.Document, error) {
	docs, err := c.m.st.Load(ctx, []store.Key{c.ownKey(id)}, store.WithViews)
	if err == nil && docs[0].Head == 0 {
		if docs, err = c.m.st.Load(ctx, []store.Key{c.key(id)}, store.WithoutViews); err == nil && docs[0].Head > 0 {
			docs[0] = store.Document{Head: docs[0].Head}
		}
	}
	if err != nil {
		return store.Document{}, err
	}
	docs[0].Key, docs[0].Version = c.key(id), c.spec.Version
	return docs[0], nil
}

// step folds one more operation into a view. If it fails the state is lost.
func (c *Collection[S, O]) step(view *View[S], op store.Operation) error {
	err := worker.Guard(func() error {
		if op.Seq != view.Applied+1 {
			return fmt.Errorf("%w: operation %d is missing", ErrDamaged, view.Applied+1)
		}
		return c.apply(&view.State, &view.Deleted, view.ID, &op)
	})
	if err != nil {
		return &FoldError{Collection: c.spec.Name, Document: view.ID, Seq: op.Seq, Err: err}
	}
	view.Applied = op.Seq
	return nil
}

// replay folds the operations up to a seq onto a loaded document.
func (c *Collection[S, O]) replay(ctx context.Context, doc store.Document, to int64) (View[S], error) {
	view, err := c.view(doc)
	for op, err2 := range store.ReadOperations(ctx, c.m.st, doc.Key, doc.Applied+1) {
		if err = errors.Join(err, err2); err != nil || op.Seq > to {
			break
		}
		if err = c.step(&view, op); err != nil {
			break
		}
	}
	return view, err
}

// Operations returns the operations of a document from a seq on, up to the head
// that it has when the loop gets there. An operation that cannot be decoded ends
// it, unless it is discarded: then its body is zero.
func (c *Collection[S, O]) Operations(ctx context.Context, id string, from int64) iter.Seq2[Operation[O], error] {
	return func(yield func(Operation[O], error) bool) {
		key := c.key(id)
		if err := store.CheckKey(key); err != nil {
			yield(Operation[O]{}, err)
			return
		}
		for op, err := range store.ReadOperations(ctx, c.m.st, key, from) {
			var decoded Operation[O]
			if err == nil {
				decoded, err = c.decode(id, &op)
				if err != nil && op.Discarded {
					decoded, err = Operation[O]{Document: id, Seq: op.Seq, ID: op.ID, Kind: op.Kind, Meta: op.Meta, Time: op.Time}, nil
				}
				decoded.Discarded, decoded.History = op.Discarded, op.History
			}
			if !yield(decoded, err) || err != nil {
				return
			}
		}
	}
}
