package materializertest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/refold-go/refold/materializer"
)

// repeats is how often a state is encoded: a map of two elements comes in the same
// order each time with a chance of 1 in 32,768.
const repeats = 16

// checkViews checks the view codec on the state of a run, of which o is the
// outcome.
func (f *folder[S, O]) checkViews(r *run[S], o outcome) error {
	if o.deleted {
		return nil
	}
	where := r.at(r.n - 1)
	for range repeats - 1 {
		again, err := f.outcome(r)
		if err != nil {
			return err
		}
		if !again.equal(o) {
			return fmt.Errorf("%s: the view codec is not deterministic: it encodes one state in two ways\n%s", where, differ(o, again))
		}
	}
	copied := &run[S]{document: r.document, state: r.state, n: r.n}
	if err := f.store(copied); err != nil {
		return err
	}
	if d := lost(r.state, copied.state); d != "" {
		return fmt.Errorf("%s: the view codec loses something: the state before encoding (-) and after decoding (+)\n%s", where, d)
	}
	again, err := f.outcome(copied)
	if err != nil {
		return err
	}
	if !again.equal(o) {
		return fmt.Errorf("%s: the view is encoded in another way after decoding\n%s", where, differ(o, again))
	}
	return nil
}

// checkOperations checks the operation codec.
func (f *folder[S, O]) checkOperations(documents map[string][]O) error {
	const unknown = "materializertest: no such kind"
	for _, d := range f.documents {
		for i := range d.entries {
			e := &d.entries[i]
			var op O
			err := guard(func() (err error) {
				body := bytes.Clone(e.Body)
				op, err = f.Operations.Decode(e.Kind, body)
				overwrite(body)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: decoding the operation: %w", d.at(i), err)
			}
			if diff := lost(documents[d.id][i], op); diff != "" {
				return fmt.Errorf("%s: the operation codec loses something: before encoding (-) and after decoding (+)\n%s", d.at(i), diff)
			}
			err = guard(func() error {
				_, err := f.Operations.Decode(unknown, bytes.Clone(e.Body))
				return err
			})
			if !errors.Is(err, materializer.ErrUnknownKind) {
				return fmt.Errorf("%s: for kind %q the operation codec returns the error %v, want one that is ErrUnknownKind", d.at(i), unknown, err)
			}
			var none []byte
			err = guard(func() (err error) {
				var zero O
				_, none, err = f.Operations.Encode(zero)
				none = bytes.Clone(none)
				return err
			})
			if err != nil {
				continue // an interface has no zero operation
			}
			err = swallowed(e.Body, none, func(half []byte) ([]byte, error) {
				op, err := f.Operations.Decode(e.Kind, half)
				if err != nil {
					return nil, err
				}
				_, body, err := f.Operations.Encode(op)
				return body, err
			})
			if err != nil {
				return fmt.Errorf("%s: the operation codec %w", d.at(i), err)
			}
		}
	}
	return nil
}

// checkBrokenViews checks that the view codec does not take a broken view for
// none.
func (f *folder[S, O]) checkBrokenViews() error {
	var none []byte
	err := guard(func() (err error) {
		var zero S
		none, err = f.Views.Encode(zero)
		none = bytes.Clone(none)
		return err
	})
	if err != nil {
		return nil // it never has to
	}
	for _, d := range f.documents {
		for i, o := range d.want {
			if o.deleted {
				continue
			}
			err := swallowed(o.view, none, func(half []byte) ([]byte, error) {
				state, err := f.Views.Decode(half)
				if err != nil {
					return nil, err
				}
				return f.Views.Encode(state)
			})
			if err != nil {
				return fmt.Errorf("%s: the view codec %w", d.at(i), err)
			}
		}
	}
	return nil
}

// swallowed returns an error if what is left of encoded bytes, when some are cut
// away, is decoded without one to the same as nothing.
func swallowed(encoded, none []byte, again func([]byte) ([]byte, error)) error {
	for _, n := range []int{len(encoded) / 2, len(encoded) - 1} {
		if n <= 0 {
			continue
		}
		half := encoded[:n:n]
		var back []byte
		err := guard(func() (err error) {
			back, err = again(bytes.Clone(half))
			return err
		})
		if err == nil && bytes.Equal(back, none) && !bytes.Equal(half, none) && !bytes.Equal(encoded, none) {
			return fmt.Errorf("swallows an error: it decodes %q, which is broken, to the zero value", half)
		}
	}
	return nil
}
