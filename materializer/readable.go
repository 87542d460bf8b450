package materializer

import (
	"fmt"

	"github.com/refold-go/refold/store"
)

// Readable is a collection of whose views others can be made: a [*Collection] or a
// [*Derived].
type Readable[S any] interface {
	Name() string
	// reading returns how its views are read.
	reading() reading[S]
}

// reading is how the views of a collection are read by those that are made of them.
type reading[S any] struct {
	m       *Materializer
	version int
	view    func(store.Document) (View[S], error)
}

func (c *Collection[S, O]) reading() reading[S] { return reading[S]{c.m, c.spec.Version, c.view} }

// origin is a collection that another one is made of.
type origin struct {
	m     *Materializer
	name  string
	wrong string // what is wrong with it; empty if nothing is
}

func sourceOf[S any](collection Readable[S]) origin {
	if collection == nil {
		return origin{wrong: "nil for a collection"}
	}
	return origin{m: collection.reading().m, name: collection.Name()}
}

// unreadableError is that of a view which another version made and which cannot be decoded here. It
// is no failure of who reads it: there will be another view, or another program.
type unreadableError struct{ error }

func (e *unreadableError) Unwrap() error { return e.error }

// stateOf returns the state of a loaded document.
func stateOf[S any](collection Readable[S], doc store.Document) (S, error) {
	r := collection.reading()
	view, err := r.view(doc)
	if err != nil && doc.Version != r.version {
		err = &unreadableError{err}
	}
	return view.State, err
}

// check returns what is wrong with the sources of a collection.
func checkSources(m *Materializer, name string, sources []origin) error {
	for i, s := range sources {
		got := s.wrong
		if got == "" && s.m == nil {
			got = "none"
		}
		if got == "" && s.m != m {
			got = s.name + " of another materializer"
		}
		if got != "" {
			return &InvalidError{Field: fmt.Sprintf("source %d of %s", i+1, name), Got: got, Want: "a collection of the same materializer, and a function"}
		}
	}
	return nil
}
