package materializer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// Deleted is what a fold returns instead of an error when an operation deletes
// its document: the view is removed, a read says [ErrDeleted], and the next
// operation gets the zero state, so that it may bring the document back. It costs
// no attempt. The state that is returned beside it is ignored.
//
//lint:ignore ST1012 it is an outcome, not a failure; reads say ErrDeleted
var Deleted = errors.New("refold: the operation deletes its document")

// foldRun is what one run knows of one document.
type foldRun struct {
	key     store.Key
	view    []byte // the stored view; nil if there is none
	deleted bool   // instead of a view
	applied int64
	ops     []store.Operation // those after applied
	limit   worker.Limit
	until   time.Time // of the lease; zero if there is none
	// at is how many operations the attempt under way has folded. It is for a fold
	// that does not come back.
	at int
	// doc is the document as it was loaded, and room how many bytes may be read at a time
	// of what it is made from. They are for derived documents.
	doc  *store.Document
	room int64
	// ahead are contributions that were read before they are reduced: from the first one
	// on, and all if whole is set.
	ahead []store.Contribution
	whole bool
	// mapped reads a page of contributions elsewhere than in the store; nil if they are there.
	mapped func(ctx context.Context, after Contributor) ([]store.Contribution, error)
}

// folded is what a run made of it.
type folded struct {
	view    []byte // the new view; nil if n is 0, or if the document is deleted
	deleted bool
	n       int // how many of the operations it contains
	// err is why the next operation is not in it; nil if all are.
	err error
	// effects, reads and trouble are those of derived documents: trouble is why nothing is
	// to be stored, if that is not the fault of the document.
	effects *store.Effects
	reads   []store.Read
	trouble error
}

// size is how many bytes the effects have.
func (f *folded) size() (bytes int64) {
	if f.effects != nil {
		for i := range f.effects.Pairs {
			bytes += int64(len(f.effects.Pairs[i].Key) + len(f.effects.Pairs[i].Body))
		}
	}
	return bytes
}

// fold folds as many of the operations as go. If one fails, the state may be
// half changed by it: it is dropped, and what comes before the operation is
// folded again from the stored bytes. Should that fail too, because the fold is
// not pure or its state cannot be encoded, half as many are tried, and so on:
// the next runs then close in on the operation that fails.
func (c *Collection[S, O]) fold(ctx context.Context, r *foldRun) folded {
	f, kept := c.attempt(ctx, r, len(r.ops))
	if kept {
		return f
	}
	err, done := f.err, f.n
	if done == len(r.ops) {
		done /= 2
	}
	again := *r
	again.limit, again.until = worker.Limit{}, time.Time{}
	for ; done > 0; done /= 2 {
		prefix, kept := c.attempt(ctx, &again, done)
		if kept && prefix.n > 0 {
			prefix.err = err
			return prefix
		}
		err = prefix.err
	}
	return folded{err: err}
}

// attempt folds the first n operations and encodes the state. If it fails, kept
// is false and the result only says how many went well. It stops early without
// failing when the time limit is over or ctx ends; then err says so, and what was
// folded is kept.
func (c *Collection[S, O]) attempt(ctx context.Context, r *foldRun, n int) (f folded, kept bool) {
	var stopped error
	r.at = 0
	f.deleted = r.deleted
	err := worker.Guard(func() error {
		var state S
		if r.view != nil {
			var err error
			if state, err = c.spec.Views.Decode(r.view); err != nil {
				return fmt.Errorf("decoding the stored view: %w", err)
			}
		}
		for f.n < n {
			if stopped = r.mayGoOn(ctx); stopped != nil {
				break
			}
			if err := r.check(f.n); err != nil {
				return err
			}
			if err := c.apply(&state, &f.deleted, r.key.ID, &r.ops[f.n]); err != nil {
				return err
			}
			f.n++
			r.at = f.n
		}
		if f.n == 0 || f.deleted {
			return nil
		}
		var err error
		if f.view, err = c.spec.Views.Encode(state); err != nil {
			return fmt.Errorf("encoding the view: %w", err)
		}
		if f.view == nil {
			f.view = []byte{}
		}
		return nil
	})
	if err != nil {
		return folded{n: f.n, err: err}, false
	}
	f.err = stopped
	return f, true
}

// apply folds one operation into a state, and says whether the document is
// deleted then. A discarded operation changes neither. After an error the state
// is lost.
func (c *Collection[S, O]) apply(state *S, deleted *bool, id string, op *store.Operation) error {
	if op.Discarded {
		return nil
	}
	decoded, err := c.decode(id, op)
	if err != nil {
		return err
	}
	next, err := c.spec.Fold(*state, decoded)
	if err != nil && errors.Is(err, Deleted) {
		var zero S
		*state, *deleted = zero, true
		return nil
	}
	*state, *deleted = next, false
	return err
}

// mayGoOn returns why a run has to stop before its next operation, or nil.
func (r *foldRun) mayGoOn(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !r.until.IsZero() && r.at > 0 && time.Now().After(r.until) {
		return errLeaseEnds
	}
	return r.limit.Check()
}

// errLeaseEnds ends a fold as a slice, because others may take the document over
// soon. One operation is folded in any case, so that a document gets on whose
// operations take longer than a lease.
var errLeaseEnds = errors.New("refold: the lease is about to run out")

// check returns an error if the operation at i is not the one that comes next.
func (r *foldRun) check(i int) error {
	want := r.applied + int64(i) + 1
	if r.ops[i].Seq != want {
		return fmt.Errorf("%w: operation %d is missing", ErrDamaged, want)
	}
	return nil
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
