package materializer_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
)

// The operations of FuzzKinds, of which one is a pointer.
type (
	fuzzEvent   interface{ fuzzEvent() }
	fuzzCreated struct {
		Title string
		At    time.Time
	}
	fuzzTagged struct {
		Tags  []string
		Sizes map[string]int
		Raw   []byte
		Next  *fuzzCreated
	}
	fuzzRenamed struct{ Title string }
)

func (fuzzCreated) fuzzEvent()  {}
func (fuzzTagged) fuzzEvent()   {}
func (*fuzzRenamed) fuzzEvent() {}

// FuzzKinds decodes what may be stored: a kind that is not known is said to be so,
// and what is decoded is encoded as the same kind, and is the same after.
func FuzzKinds(f *testing.F) {
	codec := materializer.Kinds(map[string]fuzzEvent{"created": fuzzCreated{}, "tagged": fuzzTagged{}, "renamed": &fuzzRenamed{}})
	known := map[string]bool{"created": true, "tagged": true, "renamed": true}
	for kind := range known {
		for _, body := range []string{"", "null", "{}", "[]", "1", `{"Title":"a"}`, `{"Title":1}`, `{"Title":"\ud800"}`,
			`{"Tags":["a",null],"Sizes":{"b":1},"Raw":"AA==","Next":{"At":"2020-01-02T03:04:05Z"}}`, `{"At":"tomorrow"}`, `{"Title":"a"`, "\xff"} {
			f.Add(kind, []byte(body))
		}
	}
	f.Add("", []byte("{}"))
	f.Add("Created", []byte("{}"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		was := bytes.Clone(body)
		op, err := codec.Decode(kind, body)
		if !bytes.Equal(body, was) {
			t.Errorf("Decode changed the body %q to %q", was, body)
		}
		if known[kind] == errors.Is(err, materializer.ErrUnknownKind) {
			t.Errorf("kind %q: %v", kind, err)
		}
		if err != nil {
			return
		}
		again, encoded, err := codec.Encode(op)
		if err != nil || again != kind {
			t.Fatalf("%q of kind %s was decoded, and is then kind %q, %v", body, kind, again, err)
		}
		for i := range body {
			body[i] = '#' // it must not be kept
		}
		other, err := codec.Decode(kind, encoded)
		if err != nil {
			t.Fatalf("%s, which it wrote, is not read: %v", encoded, err)
		}
		if _, last, err := codec.Encode(other); err != nil || !bytes.Equal(last, encoded) {
			t.Errorf("%s became %s, %v", encoded, last, err)
		}
		if _, now, err := codec.Encode(op); err != nil || !bytes.Equal(now, encoded) {
			t.Errorf("with the body changed, %s became %s, %v", encoded, now, err)
		}
	})
}
