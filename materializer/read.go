package materializer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// View is a document as it is read.
type View[S any] struct {
	ID string
	// State is the state after the operations 1 to Applied; the zero state if
	// Applied is 0. It shares no memory with anything.
	State S
	// Applied is the highest seq that State contains.
	Applied int64
	// Head is the seq of the document's last operation when the view was read; 0
	// if the document does not exist.
	Head int64
	// Parked tells that the fold failed for good at operation Applied+1, so that
	// State is as good as it gets until the document is resumed.
	Parked bool
}

// ReadOption is an option of a read.
type ReadOption struct{ atLeast Token }

// AtLeast makes a read wait until the view contains all operations of the
// document that the token covers. It does not wait for a parked document: then
// the last good view comes with [ErrParked] and a [*FoldError], unless it contains
// them.
func AtLeast(token Token) ReadOption { return ReadOption{atLeast: token} }

// Get returns the stored view of a document. With [AtLeast] it waits for it;
// several mean all of them. Errors: [ErrNotFound] if the document has no
// operations; [ErrParked], with the view, as said there; [ErrForeignToken] and
// [ErrFutureToken] at once; the context's cause; [ErrNotRunning] if Run returns
// meanwhile. If Run has not been called yet, it waits.
func (c *Collection[S, O]) Get(ctx context.Context, id string, options ...ReadOption) (View[S], error) {
	key := c.key(id)
	if err := store.CheckKey(key); err != nil {
		return View[S]{}, err
	}
	var least int64
	for _, o := range options {
		seq, err := c.m.resolve(ctx, o.atLeast, key)
		if err != nil {
			return View[S]{}, err
		}
		least = max(least, seq)
	}
	doc, parked := store.Document{}, error(nil)
	err := c.m.await(ctx, key, func() (bool, error) {
		docs, err := c.m.st.Load(ctx, []store.Key{key}, store.WithViews)
		if err != nil {
			return false, err
		}
		doc = docs[0]
		return c.m.enough(doc, least, &parked), nil
	})
	if err != nil {
		return View[S]{}, err
	}
	if doc.Head == 0 {
		return View[S]{}, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	view, err := c.view(doc)
	return view, errors.Join(err, parked)
}

// resolve returns the document's seq that a token means.
func (m *Materializer) resolve(ctx context.Context, token Token, key Key) (int64, error) {
	if token.IsZero() {
		return 0, nil
	}
	seqs, err := m.st.Resolve(ctx, token, []Key{key})
	if err != nil {
		return 0, err
	}
	return seqs[0], nil
}

// enough reports whether a document's view contains the seq, or never will. If
// not, it makes sure that somebody works on it.
func (m *Materializer) enough(doc store.Document, seq int64, parked *error) bool {
	switch {
	case doc.Applied >= seq:
		return true
	case doc.Parked():
		f := doc.Failure
		*parked = fmt.Errorf("%w: %w", ErrParked, &FoldError{
			Collection: doc.Key.Collection, Document: doc.Key.ID,
			Seq: f.Seq, Attempt: f.Attempts, Stack: f.Stack, Err: errors.New(f.Error),
		})
		return true
	}
	m.nudge(doc.Key)
	return false
}

// nudge signals a document that is dirty, unless it is in hand already.
func (m *Materializer) nudge(key Key) {
	if m.running.Load() && m.table.State(key) == dispatcher.Idle {
		m.table.Signal(key)
	}
}

// view decodes a loaded document.
func (c *Collection[S, O]) view(doc store.Document) (View[S], error) {
	v := View[S]{ID: doc.Key.ID, Applied: doc.Applied, Head: doc.Head, Parked: doc.Parked()}
	if doc.Applied == 0 {
		return v, nil
	}
	err := worker.Guard(func() (err error) {
		v.State, err = c.spec.Views.Decode(doc.View)
		return err
	})
	if err != nil {
		return View[S]{}, fmt.Errorf("refold: decoding the view of %s: %w", doc.Key, err)
	}
	return v, nil
}

// GetMany returns the views of several documents, in the order of ids. A
// document that does not exist has Head 0; that is no error.
func (c *Collection[S, O]) GetMany(ctx context.Context, ids ...string) ([]View[S], error) {
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = c.key(id)
		if err := store.CheckKey(keys[i]); err != nil {
			return nil, err
		}
	}
	docs, err := c.m.st.Load(ctx, keys, store.WithViews)
	if err != nil {
		return nil, err
	}
	views := make([]View[S], len(docs))
	for i := range docs {
		if views[i], err = c.view(docs[i]); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// All returns the views of all documents of the collection, in the order of the
// bytes of their ids. Each is as it was at some moment during the loop.
func (c *Collection[S, O]) All(ctx context.Context) iter.Seq2[View[S], error] {
	return func(yield func(View[S], error) bool) {
		for doc, err := range c.m.st.Scan(ctx, c.spec.Name, "", store.WithViews) {
			var view View[S]
			if err == nil {
				view, err = c.view(doc)
			}
			if !yield(view, err) || err != nil {
				return
			}
		}
	}
}

// Latest returns the document with all operations that it has now: the stored
// view and what comes after, folded by the caller. Nothing is stored. It is for
// deciding on a command, together with [Change.ExpectHead] of the view's Head.
// Errors: [ErrNotFound]; a [*FoldError] if the fold fails, with the state before
// the operation that failed; those of the store.
func (c *Collection[S, O]) Latest(ctx context.Context, id string) (View[S], error) {
	key := c.key(id)
	if err := store.CheckKey(key); err != nil {
		return View[S]{}, err
	}
	docs, err := c.m.st.Load(ctx, []store.Key{key}, store.WithViews)
	if err != nil {
		return View[S]{}, err
	}
	doc := docs[0]
	if doc.Head == 0 {
		return View[S]{}, fmt.Errorf("%w: %s", ErrNotFound, key)
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
	view.Parked = view.Parked && doc.Failure.Seq > view.Applied // a mended fold got past it
	return view, nil
}

// step folds one more operation into a view. If it fails the state is lost.
func (c *Collection[S, O]) step(view *View[S], op store.Operation) error {
	err := worker.Guard(func() error {
		if op.Seq != view.Applied+1 {
			return fmt.Errorf("%w: operation %d is missing", ErrDamaged, view.Applied+1)
		}
		decoded, err := c.decode(view.ID, &op)
		if err != nil {
			return err
		}
		view.State, err = c.spec.Fold(view.State, decoded)
		return err
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
// it.
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
			}
			if !yield(decoded, err) || err != nil {
				return
			}
		}
	}
}
