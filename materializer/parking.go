package materializer

import (
	"context"
	"iter"

	"github.com/refold-go/refold/store"
)

// ParkedDocument is a document whose fold failed for good.
type ParkedDocument struct {
	ID            string
	Applied, Head int64
	// Seq is the operation at which the fold failed, Attempts how many runs
	// failed there.
	Seq      int64
	Attempts int
	// Error is the text of the last error; Stack is the stack of a panic, or empty.
	Error, Stack string
}

// Parked returns the parked documents of the collection in the order of the
// bytes of their ids.
func (c *Collection[S, O]) Parked(ctx context.Context) iter.Seq2[ParkedDocument, error] {
	return func(yield func(ParkedDocument, error) bool) {
		for doc, err := range c.m.st.Parked(ctx, c.spec.Name) {
			var p ParkedDocument
			if err == nil {
				p = ParkedDocument{
					ID: doc.Key.ID, Applied: doc.Applied, Head: doc.Head,
					Seq: doc.Failure.Seq, Attempts: doc.Failure.Attempts,
					Error: doc.Failure.Error, Stack: doc.Failure.Stack,
				}
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// Resume lets parked documents be folded again, with no attempts counted, as
// one does after the fold was mended. It returns how many were parked; others
// are left alone.
func (c *Collection[S, O]) Resume(ctx context.Context, ids ...string) (int, error) {
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = c.key(id)
	}
	return c.m.st.Resume(ctx, keys)
}
