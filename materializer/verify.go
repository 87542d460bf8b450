package materializer

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/refold-go/refold/store"
)

// VerifyOptions says which documents to fold again. The zero value means all.
type VerifyOptions struct {
	// IDs names documents, in which case nothing else chooses.
	IDs []string
	// Count chooses so many documents at random, Fraction each with this chance, from
	// 0 to 1. 0 means all. With both, Count of those that Fraction chose.
	Count    int
	Fraction float64
	// Seed makes the choice repeatable.
	Seed uint64
	// Most is how many differences are reported, 0 meaning 100. All are counted.
	Most int
}

// Verified is what Verify found.
type Verified struct {
	// Documents and Operations is how many were folded again, Different how many
	// documents have something wrong.
	Documents, Operations, Different int64
	// Differences are those documents, the first ones of them.
	Differences []Difference
}

// Difference says what is wrong with a document.
type Difference struct {
	ID string
	// Applied is the seq up to which the stored view goes.
	Applied int64
	// Seq is the first operation after which folds and view, or fold and fold,
	// differ, as exactly as it can be found; for Lost that which is missing, for
	// Failing that at which the fold fails.
	Seq  int64
	Kind DifferenceKind
	// Err is why the fold fails, for Failing, and for Impure if it fails only
	// sometimes; nil otherwise.
	Err error
	// Sources are the source documents that it is about, the first ten of them; nil if it is not
	// about a derived document, or about all that it is made of.
	Sources []Key
}

func (d Difference) String() string {
	s := fmt.Sprintf("%s: %s at seq %d of %d", d.ID, d.Kind, d.Seq, d.Applied)
	if d.Err != nil {
		s += ": " + d.Err.Error()
	}
	if len(d.Sources) > 0 {
		s += fmt.Sprintf(", of %v", d.Sources)
	}
	return s
}

// DifferenceKind says what a difference comes from.
type DifferenceKind string

const (
	// Lost means that an operation is missing in the store.
	Lost DifferenceKind = "lost operation"
	// Impure means that the fold gives something else each time.
	Impure DifferenceKind = "impure fold"
	// Behind means that the view is that of an earlier operation: what it is said to
	// contain from Seq on is not in it.
	Behind DifferenceKind = "view of an earlier operation"
	// Failing means that the fold of an operation fails that the view contains.
	Failing DifferenceKind = "failing fold"
	// Damaged means that two folds agree, and that the view is not what they give:
	// the row is damaged, or the fold, or a codec, is another one than that which
	// made it.
	Damaged DifferenceKind = "damaged view"
)

// Verify folds documents again from their first operation, and compares the
// result with the view that the collection's own fold has stored, byte for byte. It changes nothing, and may run
// beside Run: each document is compared at the seq that its view contains. It
// looks for lost operations also behind that. Discarded operations are passed
// over, as in every fold. A document is folded once if all is well, and some
// times more if not, to find where; one at a time, by the caller.
//
// Errors: those of the store and the context's cause, with what was found until
// then; [ErrInvalid] for options that make no sense. A difference is no error.
func (c *Collection[S, O]) Verify(ctx context.Context, options VerifyOptions) (Verified, error) {
	return c.verifyChosen(ctx, options, c.verify)
}

// verifyChosen compares the documents that the options choose.
func (c *Collection[S, O]) verifyChosen(
	ctx context.Context, options VerifyOptions, verify func(ctx context.Context, id string) (*Difference, int64, error),
) (Verified, error) {
	var v Verified
	err := c.forChosen(ctx, options, func(id string) error {
		d, ops, err := verify(ctx, id)
		if err != nil {
			return err
		}
		v.Documents++
		v.Operations += ops
		if d == nil {
			return nil
		}
		v.add(*d, options)
		return nil
	})
	return v, err
}

// add adds a difference.
func (v *Verified) add(d Difference, options VerifyOptions) {
	if v.Different++; len(v.Differences) < options.most() {
		v.Differences = append(v.Differences, d)
	}
}

// most is how many differences are reported.
func (o VerifyOptions) most() int { return cmp.Or(o.Most, 100) }

// forChosen calls f for the documents that the options choose, until it fails.
func (c *Collection[S, O]) forChosen(ctx context.Context, options VerifyOptions, f func(id string) error) error {
	if f := options.Fraction; !(f >= 0 && f <= 1) || options.Count < 0 {
		return &InvalidError{Field: "sample", Got: fmt.Sprintf("count %d, fraction %v", options.Count, f), Want: "0 or more, and 0 to 1"}
	}
	if len(options.IDs) > 0 || options.Count > 0 {
		ids := options.IDs
		if len(ids) == 0 {
			var err error
			if ids, err = c.sample(ctx, options); err != nil {
				return err
			}
		}
		for _, id := range ids {
			if err := f(id); err != nil {
				return err
			}
		}
		return nil
	}
	for id, err := range c.chosen(ctx, options) {
		if err == nil {
			err = f(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chosen returns the ids that Fraction chooses.
func (c *Collection[S, O]) chosen(ctx context.Context, options VerifyOptions) func(yield func(string, error) bool) {
	return func(yield func(string, error) bool) {
		random := rand.New(rand.NewPCG(options.Seed, 1)) // #nosec G404 -- it is to be repeatable
		for doc, err := range c.m.st.Scan(ctx, c.spec.Name, "", store.WithoutViews) {
			if err == nil && options.Fraction > 0 && random.Float64() >= options.Fraction {
				continue
			}
			if !yield(doc.Key.ID, err) || err != nil {
				return
			}
		}
	}
}

// sample returns Count of the ids that Fraction chooses, each with the same
// chance (reservoir sampling, Vitter's algorithm R).
func (c *Collection[S, O]) sample(ctx context.Context, options VerifyOptions) ([]string, error) {
	random := rand.New(rand.NewPCG(options.Seed, 2)) // #nosec G404 -- it is to be repeatable
	var ids []string
	n := 0
	for id, err := range c.chosen(ctx, options) {
		if err != nil {
			return nil, err
		}
		n++
		if len(ids) < options.Count {
			ids = append(ids, id)
		} else if i := random.IntN(n); i < options.Count {
			ids[i] = id
		}
	}
	return ids, nil
}
