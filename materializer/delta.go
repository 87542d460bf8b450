package materializer

import (
	"errors"
	"fmt"
	"iter"

	"github.com/refold-go/refold/store"
)

// deltas is the codec of the operations of a derived collection.
type deltas struct{}

func (deltas) Encode(d store.Delta) (string, []byte, error) {
	return "", store.AppendDelta(nil, d), nil
}

func (deltas) Decode(_ string, body []byte) (store.Delta, error) { return store.ParseDelta(body) }

// errNotByDeltas is that of [Deleted] where it has no meaning.
var errNotByDeltas = errors.New("refold: Add and Remove cannot delete a document, which is deleted when nothing contributes to it")

// addAll returns the reduce that adds all contributions.
func addAll[C, V any](add func(V, Contributor, C) (V, error)) func(string, iter.Seq2[Contributor, C]) (V, error) {
	return func(_ string, all iter.Seq2[Contributor, C]) (state V, err error) {
		for by, c := range all {
			if state, err = add(state, by, c); err != nil {
				break
			}
		}
		return state, err
	}
}

// foldDelta returns the fold of deltas.
func foldDelta[C, V any](spec Contributions[C, V]) func(V, Operation[store.Delta]) (V, error) {
	change := func(state V, by Contributor, body []byte, f func(V, Contributor, C) (V, error)) (V, error) {
		if body == nil {
			return state, nil
		}
		c, err := spec.Contributions.Decode(body)
		if err != nil {
			return state, fmt.Errorf("decoding the contribution of %q: %w", by.Source, err)
		}
		state, err = f(state, by, c)
		if errors.Is(err, Deleted) {
			err = Permanent(errNotByDeltas)
		}
		return state, err
	}
	return func(state V, op Operation[store.Delta]) (V, error) {
		d := &op.Body
		state, err := change(state, d.Contributor, d.Before, spec.Remove)
		if err != nil {
			return state, err
		}
		return change(state, d.Contributor, d.After, spec.Add)
	}
}
