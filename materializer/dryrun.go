package materializer

import (
	"bytes"
	"context"
	"fmt"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// DryRunOptions says which documents [DryRun] folds, and when two states are equal.
// The zero value means all documents, and that their encoded views are the same bytes.
type DryRunOptions[S, S2 any] struct {
	VerifyOptions
	// Equal reports whether the state of the new fold is as good as that of the
	// registered one, for example because a field was added on purpose. It must change
	// neither.
	Equal func(old S, new S2) bool
}

// DryRunResult is what [DryRun] found.
type DryRunResult struct {
	// Documents and Operations is how many were folded.
	Documents, Operations int64
	// Different is how many documents would have another view, Failing how many the
	// new fold fails for and the registered one does not, or not there, and Mended how
	// many it does not fail for although the registered one does.
	Different, Failing, Mended int64
	// Differences are those documents, the first ones of them, as Changing, Failing and
	// Mended. Applied is up to where they were folded: the head that they had, or the
	// operation before one at which both folds fail. Seq is the first operation after
	// which the states differ to that end, or at which one fold fails.
	Differences []Difference
}

const (
	// Changing means that the new fold makes another view.
	Changing DifferenceKind = "other view"
	// Mended means that the new fold does not fail where the registered one does.
	Mended DifferenceKind = "no failure any more"
)

// DryRun folds documents of a registered collection with its own fold and with that
// of a candidate beside it, from the first operation, and compares the states. It
// changes nothing, neither in the store nor in the materializer, and may run beside
// Run. The candidate is a spec of the same name as it would be registered with; its version is
// not compared. Documents are folded one at a time, by the caller.
//
// Errors: those of the store and the context's cause, with what was found until then;
// [ErrInvalid] for options or a candidate that make no sense. A difference is no
// error, and neither is a fold that fails.
func DryRun[S, O, S2, O2 any](ctx context.Context, c *Collection[S, O], candidate Spec[S2, O2], options DryRunOptions[S, S2]) (DryRunResult, error) {
	var result DryRunResult
	spec, err := candidate.complete()
	if err != nil {
		return result, err
	}
	if spec.Name != c.spec.Name {
		return result, &InvalidError{Field: "name of the candidate", Got: spec.Name, Want: c.spec.Name}
	}
	two := twoFolds[S, O, S2, O2]{c, &Collection[S2, O2]{m: c.m, spec: spec}, options.Equal}
	err = c.forChosen(ctx, options.VerifyOptions, func(id string) error {
		d, operations, err := two.compare(ctx, id)
		if err != nil {
			return err
		}
		result.Documents++
		result.Operations += operations
		if d == nil {
			return nil
		}
		switch d.Kind {
		case Failing:
			result.Failing++
		case Mended:
			result.Mended++
		default:
			result.Different++
		}
		if len(result.Differences) < options.most() {
			result.Differences = append(result.Differences, *d)
		}
		return nil
	})
	return result, err
}

// twoFolds are the registered fold and the candidate.
type twoFolds[S, O, S2, O2 any] struct {
	old   *Collection[S, O]
	new   *Collection[S2, O2]
	equal func(S, S2) bool
}

// compare returns what differs of a document, nil if nothing does. Most documents do
// not differ, so that they are compared in the end only; one that does is folded a
// second time.
func (t twoFolds[S, O, S2, O2]) compare(ctx context.Context, id string) (*Difference, int64, error) {
	key := t.old.key(id)
	if err := store.CheckKey(key); err != nil {
		return nil, 0, err
	}
	docs, err := t.old.m.st.Load(ctx, []store.Key{key}, store.WithViews)
	if err != nil {
		return nil, 0, err
	}
	head := docs[0].Head
	d, end, err := t.fold(ctx, key, head, head)
	if err == nil && end < head { // both fail behind it, and the states are lost
		d, _, err = t.fold(ctx, key, end, end)
	}
	if d == nil || d.Kind != Changing || err != nil {
		return d, head, err
	}
	step := max(1, end*int64(len(docs[0].View)+1)/locateBytes)
	d, _, err = t.fold(ctx, key, end, step)
	return d, head, err
}

// fold folds a document up to an operation, and compares after each step of them. It
// also returns the operation before that at which both folds fail, or else the last.
func (t twoFolds[S, O, S2, O2]) fold(ctx context.Context, key store.Key, head, step int64) (found *Difference, end int64, err error) {
	var one refold[S]
	var other refold[S2]
	differs := func(kind DifferenceKind, seq int64, err error) *Difference {
		return &Difference{ID: key.ID, Applied: head, Seq: seq, Kind: kind, Err: err}
	}
	end = head
	err = t.old.each(ctx, key, func(op *store.Operation) error {
		if op.Seq > head {
			return errStop
		}
		twin := *op // a fold may change what it gets
		twin.Body, twin.Meta = bytes.Clone(op.Body), bytes.Clone(op.Meta)
		was, is := t.old.advance(&one, key.ID, op), t.new.advance(&other, key.ID, &twin)
		switch {
		case was != nil && is != nil:
			end = op.Seq - 1
			return errStop
		case is != nil:
			found = differs(Failing, op.Seq, is)
			return errStop
		case was != nil:
			found = differs(Mended, op.Seq, was)
			return errStop
		case op.Seq%step != 0 && op.Seq != head:
			return nil
		}
		same, err := t.same(&one, &other)
		switch {
		case err != nil && op.Seq == head:
			found = differs(Failing, op.Seq, err)
		case same:
			found = nil
		case err == nil && found == nil:
			found = differs(Changing, op.Seq, nil)
		}
		return nil
	})
	if err != nil && err != errStop {
		return nil, end, err
	}
	return found, end, nil
}

// same reports whether two states are equal. An error is the new fold's.
func (t twoFolds[S, O, S2, O2]) same(one *refold[S], other *refold[S2]) (same bool, err error) {
	if one.deleted || other.deleted {
		return one.deleted == other.deleted, nil
	}
	if t.equal != nil {
		err := worker.Guard(func() error { same = t.equal(one.state, other.state); return nil })
		return same, err
	}
	is, err := t.new.encoded(other)
	if err != nil {
		return false, fmt.Errorf("encoding the state of the candidate: %w", err)
	}
	was, err := t.old.encoded(one)
	return err == nil && bytes.Equal(was, is), nil
}
