package materializertest

import (
	"encoding/json"
	"fmt"

	"github.com/refold-go/refold/materializer"
)

// jsonViews and jsonOperations are what [materializer.Register] takes where the
// spec has no codec.
type jsonViews[S any] struct{}

func (jsonViews[S]) Encode(state S) ([]byte, error) { return json.Marshal(state) }

func (jsonViews[S]) Decode(view []byte) (state S, err error) {
	err = json.Unmarshal(view, &state)
	return state, err
}

type jsonOperations[O any] struct{}

func (jsonOperations[O]) Encode(op O) (string, []byte, error) {
	body, err := json.Marshal(op)
	return "", body, err
}

func (jsonOperations[O]) Decode(kind string, body []byte) (op O, err error) {
	if kind != "" {
		return op, fmt.Errorf("%w: %q", materializer.ErrUnknownKind, kind)
	}
	err = json.Unmarshal(body, &op)
	return op, err
}
