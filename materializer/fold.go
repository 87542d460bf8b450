package materializer

import (
	"context"
	"fmt"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// foldRun is what one run knows of one document.
type foldRun struct {
	key     store.Key
	view    []byte // the stored view; nil if there is none
	applied int64
	ops     []store.Operation // those after applied, without gaps
	// broken is why the operation after ops cannot be folded, although the document
	// has it: the store is damaged. nil if that is not so.
	broken error
	limit  worker.Limit
	// at is how many operations the attempt under way has folded. It is for a fold
	// that does not come back.
	at int
}

// folded is what a run made of it.
type folded struct {
	view []byte // the new view; nil if n is 0
	n    int    // how many of the operations it contains
	// err is why the next operation is not in it; nil if all are.
	err error
}

// fold folds as many of the operations as go. If one fails, the state may be
// half changed by it: it is dropped, and what comes before the operation is
// folded again from the stored bytes. Should that fail too, because the fold is
// not pure or its state cannot be encoded, half as many are tried, and so on:
// the next runs then close in on the operation that fails.
func (c *Collection[S, O]) fold(ctx context.Context, r *foldRun) folded {
	view, done, err := c.attempt(ctx, r, len(r.ops))
	if err == nil {
		err = r.broken
	}
	if err == nil || view != nil || len(r.ops) == 0 {
		return folded{view: view, n: done, err: err}
	}
	if done == len(r.ops) {
		done /= 2
	}
	again := *r
	again.limit = worker.Limit{}
	for ; done > 0; done /= 2 {
		view, n, err2 := c.attempt(ctx, &again, done)
		if view != nil {
			return folded{view: view, n: n, err: err}
		}
		err = err2
	}
	return folded{err: err}
}

// attempt folds the first n operations and encodes the state. If it fails, done
// is the number of operations that went well. It stops early without failing
// when the time limit is over or ctx ends: then there are a view and an error,
// unless nothing was done.
func (c *Collection[S, O]) attempt(ctx context.Context, r *foldRun, n int) (view []byte, done int, err error) {
	var stopped error
	r.at = 0
	err = worker.Guard(func() error {
		var state S
		if r.view != nil {
			var err error
			if state, err = c.spec.Views.Decode(r.view); err != nil {
				return fmt.Errorf("decoding the stored view: %w", err)
			}
		}
		for done < n {
			if stopped = r.mayGoOn(ctx); stopped != nil {
				break
			}
			op, err := c.decode(r.key.ID, &r.ops[done])
			if err != nil {
				return err
			}
			if state, err = c.spec.Fold(state, op); err != nil {
				return err
			}
			done++
			r.at = done
		}
		if done == 0 {
			return nil
		}
		var err error
		if view, err = c.spec.Views.Encode(state); err != nil {
			return fmt.Errorf("encoding the view: %w", err)
		}
		if view == nil {
			view = []byte{}
		}
		return nil
	})
	if err != nil {
		return nil, done, err
	}
	return view, done, stopped
}

// mayGoOn returns why a run has to stop before its next operation, or nil.
func (r *foldRun) mayGoOn(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.limit.Check()
}

func (c *Collection[S, O]) decode(document string, op *store.Operation) (Operation[O], error) {
	body, err := c.spec.Operations.Decode(op.Kind, op.Body)
	if err != nil {
		return Operation[O]{}, fmt.Errorf("decoding the operation: %w", err)
	}
	return Operation[O]{
		Document: document,
		Seq:      op.Seq,
		ID:       op.ID,
		Kind:     op.Kind,
		Meta:     op.Meta,
		Time:     op.Time,
		Body:     body,
	}, nil
}
