// Package chain has the fold of the tests with several processes: a state that shows
// which operations it was folded from, and in which order.
package chain

import (
	"fmt"

	"github.com/refold-go/refold/materializer"
)

// State is how many operations there were, and a hash over their texts.
type State struct {
	N    int64
	Hash uint64
}

// Link is an operation.
type Link struct{ Text string }

// Fold adds a link. One that is not the next parks the document.
func Fold(c State, op materializer.Operation[Link]) (State, error) {
	if op.Seq != c.N+1 {
		return c, materializer.Permanent(fmt.Errorf("operation %d folded after %d", op.Seq, c.N))
	}
	c.N = op.Seq
	for _, b := range []byte(op.Body.Text) {
		c.Hash = (c.Hash ^ uint64(b)) * 1099511628211
	}
	return c, nil
}
