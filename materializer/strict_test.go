package materializer_test

import (
	"bytes"
	"encoding/json"
)

// strict is a codec that refuses what is not of its type.
type strict[S any] struct{}

func (strict[S]) Encode(state S) ([]byte, error) { return json.Marshal(state) }

func (strict[S]) Decode(view []byte) (state S, err error) {
	d := json.NewDecoder(bytes.NewReader(view))
	d.DisallowUnknownFields()
	err = d.Decode(&state)
	return state, err
}
