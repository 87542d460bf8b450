package materializer_test

import (
	"encoding/json"
	"slices"

	"github.com/refold-go/refold/materializer"
)

// jsonWords and jsonTexts are what a nil codec means, to be embedded.
type jsonWords struct{}

func (jsonWords) Encode(op word) (string, []byte, error) {
	body, err := json.Marshal(op)
	return "", body, err
}

func (jsonWords) Decode(kind string, body []byte) (op word, err error) {
	err = json.Unmarshal(body, &op)
	return op, err
}

type jsonTexts struct{}

func (jsonTexts) Encode(s text) ([]byte, error) { return json.Marshal(s) }

func (jsonTexts) Decode(view []byte) (s text, err error) {
	err = json.Unmarshal(view, &s)
	return s, err
}

var (
	_ materializer.OperationCodec[word] = jsonWords{}
	_ materializer.ViewCodec[text]      = jsonTexts{}
)

type panickingOperations struct{ jsonWords }

func (c panickingOperations) Decode(kind string, body []byte) (word, error) {
	op, err := c.jsonWords.Decode(kind, body)
	if op.Text == "!codec" {
		panic("planted codec panic")
	}
	return op, err
}

// panickingViews panics for a text with the word "!codec"; the fold must let
// that word pass.
type panickingViews struct{ jsonTexts }

func (c panickingViews) Encode(s text) ([]byte, error) {
	if slices.Contains(s.Words, "!codec") {
		panic("planted codec panic")
	}
	return c.jsonTexts.Encode(s)
}

// fussy cannot decode views with a certain word.
type fussy struct{ jsonTexts }

func (f fussy) Decode(view []byte) (text, error) {
	s, err := f.jsonTexts.Decode(view)
	if err == nil && len(s.Words) > 0 && s.Words[0] == "undecodable" {
		return text{}, errPlanted
	}
	return s, err
}
