package materializer

import (
	"bytes"
	"context"
	"errors"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// refold is a fold of one document from its beginning, for comparing.
type refold[S any] struct {
	state   S
	deleted bool
	at      int64
}

// errStop ends a reading early.
var errStop = errors.New("stop")

// verify compares one document. It returns nil if all is well.
func (c *Collection[S, O]) verify(ctx context.Context, id string) (*Difference, int64, error) {
	key := c.key(id)
	if err := store.CheckKey(key); err != nil {
		return nil, 0, err
	}
	own, err := c.ownDocument(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	doc := &own
	differs := func(kind DifferenceKind, seq int64, err error) *Difference {
		return &Difference{ID: id, Applied: doc.Applied, Seq: seq, Kind: kind, Err: err}
	}
	// Operations that arrive during the reading are of no interest, and neither is
	// a document that is erased meanwhile.
	var r refold[S]
	seen := int64(0)
	same := doc.Applied == 0
	var failed error
	err = c.each(ctx, key, func(op *store.Operation) error {
		if op.Seq != seen+1 {
			return errStop
		}
		if seen++; seen > doc.Applied {
			return nil
		}
		if failed = c.advance(&r, id, op); failed != nil {
			return errStop
		}
		if seen == doc.Applied {
			var view []byte
			view, failed = c.encoded(&r)
			same = r.deleted == doc.Deleted && bytes.Equal(view, doc.View)
		}
		return nil
	})
	switch {
	case err != nil && err != errStop:
		return nil, seen, err
	case failed != nil:
		return differs(Failing, seen, failed), seen, nil
	case seen < doc.Head:
		if now, err := c.m.st.Load(ctx, []store.Key{key}, store.WithoutViews); err != nil || now[0].Head == 0 {
			return nil, seen, err
		}
		return differs(Lost, seen+1, nil), seen, nil
	case same:
		return nil, seen, nil
	}
	d, err := c.locate(ctx, doc, differs)
	return d, seen, err
}

// each calls f for the operations of a document, until it fails.
func (c *Collection[S, O]) each(ctx context.Context, key store.Key, f func(*store.Operation) error) error {
	for op, err := range store.ReadOperations(ctx, c.m.st, key, 1) {
		if err == nil {
			err = f(&op)
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (c *Collection[S, O]) advance(r *refold[S], id string, op *store.Operation) error {
	r.at = op.Seq
	return worker.Guard(func() error { return c.apply(&r.state, &r.deleted, id, op) })
}

// encoded returns the view as it would be stored.
func (c *Collection[S, O]) encoded(r *refold[S]) (view []byte, err error) {
	if r.deleted {
		return nil, nil
	}
	err = worker.Guard(func() (err error) {
		view, err = c.spec.Views.Encode(r.state)
		return err
	})
	return view, err
}

// locateBytes is how much may be encoded to find where things begin to differ. A
// document that would need more is compared at fewer places.
const locateBytes = 256 << 20

// locate finds from where on a view differs: two folds go side by side, and their
// states, and the stored view, are compared after each operation, or after as
// many as cost allows; then seq is the last operation of the piece.
func (c *Collection[S, O]) locate(ctx context.Context, doc *store.Document, differs func(DifferenceKind, int64, error) *Difference) (*Difference, error) {
	step := max(1, doc.Applied*int64(len(doc.View)+1)/locateBytes)
	var one, other refold[S]
	var found *Difference
	behind := int64(-1)
	if !doc.Deleted && c.isZero(doc.View) {
		behind = 0
	}
	id := doc.Key.ID
	err := c.each(ctx, doc.Key, func(op *store.Operation) error {
		if op.Seq > doc.Applied {
			return errStop
		}
		// The body is copied, so that a fold which changes it does not change the
		// other's.
		twin := *op
		twin.Body, twin.Meta = bytes.Clone(op.Body), bytes.Clone(op.Meta)
		if err := errors.Join(c.advance(&one, id, op), c.advance(&other, id, &twin)); err != nil {
			found = differs(Impure, op.Seq, err) // it did not fail before
			return errStop
		}
		if op.Seq%step != 0 && op.Seq != doc.Applied {
			return nil
		}
		x, err := c.encoded(&one)
		y, err2 := c.encoded(&other)
		switch err = errors.Join(err, err2); {
		case err != nil && op.Seq == doc.Applied:
			found = differs(Impure, op.Seq, err)
		case err != nil: // nobody has asked for the state in between
		case one.deleted != other.deleted || !bytes.Equal(x, y):
			found = differs(Impure, op.Seq, nil)
		case one.deleted == doc.Deleted && bytes.Equal(x, doc.View):
			behind = op.Seq
		}
		if found != nil {
			return errStop
		}
		return nil
	})
	if err != nil && err != errStop {
		return nil, err
	}
	if found != nil {
		return found, nil
	}
	switch {
	case behind == doc.Applied:
		return differs(Impure, doc.Applied, nil), nil // this time it is the same
	case behind >= 0:
		return differs(Behind, behind+1, nil), nil
	}
	return differs(Damaged, doc.Applied, nil), nil
}

// isZero reports whether a view is that of no operation.
func (c *Collection[S, O]) isZero(view []byte) bool {
	var none refold[S]
	zero, err := c.encoded(&none)
	return err == nil && bytes.Equal(zero, view)
}
