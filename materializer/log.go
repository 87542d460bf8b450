package materializer

import (
	"context"
	"iter"

	"github.com/refold-go/refold/store"
)

// Logged is an operation of some document, as it is stored.
type Logged = store.Logged

// Operations returns the operations of all documents of all collections, registered
// or not, that are after one token and up to another: each exactly once, in order of
// their positions, those of one document in order of seq. The zero token as from is
// the beginning; as to it is the end of the log when the loop begins. Who goes on
// from to, or from the Token of the last operation that it took, misses nothing and
// gets nothing twice. The token of an append is no place to go on from: it covers what
// others have appended before. Discarded operations and history are
// among them and say so; those of erased documents are not. Errors:
// [ErrForeignToken], [ErrFutureToken], and those of the store.
func (m *Materializer) Operations(ctx context.Context, from, to Token) iter.Seq2[Logged, error] {
	return m.st.Log(ctx, from, to)
}

// Decode decodes an operation of the log that is one of this collection. Errors:
// [ErrInvalid] if it is of another one, and those of the codec.
func (c *Collection[S, O]) Decode(op Logged) (Operation[O], error) {
	if op.Key.Collection != c.spec.Name {
		return Operation[O]{}, &InvalidError{Field: "operation to decode", Got: "one of " + op.Key.String(), Want: "one of " + c.spec.Name}
	}
	decoded, err := c.decode(op.Key.ID, &op.Operation)
	decoded.Discarded, decoded.History = op.Discarded, op.History
	return decoded, err
}
