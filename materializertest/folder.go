package materializertest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// folder does with a spec what the engine does, an operation at a time.
type folder[S, O any] struct {
	materializer.Spec[S, O]
	documents []*document
}

// document is one of the sample.
type document struct {
	id      string
	entries []store.Entry
	shown   []string // the operations, for messages
	// want is what each operation makes of the document, up to the one that fails.
	want []outcome
	// failure is the error of the operation behind want; nil if all fold.
	failure error
}

// run is one fold of a document.
type run[S any] struct {
	*document
	state   S
	deleted bool
	n       int // how many operations are in it
}

// newFolder encodes the documents. With ids, each operation has one.
func newFolder[S, O any](
	spec materializer.Spec[S, O], documents map[string][]O,
	describe func(id string, seq int64, op O) materializer.NewOperation[O], ids bool,
) (*folder[S, O], error) {
	// The materializer knows what a spec must have.
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		return nil, err
	}
	if _, err := materializer.Register(m, spec); err != nil {
		return nil, err
	}
	f := &folder[S, O]{Spec: spec}
	if f.Operations == nil {
		f.Operations = jsonOperations[O]{}
	}
	if f.Views == nil {
		f.Views = jsonViews[S]{}
	}
	for _, id := range slices.Sorted(maps.Keys(documents)) {
		d := &document{id: id}
		for i, body := range documents[id] {
			op := materializer.NewOperation[O]{Body: body}
			if describe != nil {
				op = describe(id, int64(i+1), body)
				op.Body = body
			}
			if op.Time.IsZero() {
				op.Time = time.Date(2001, 2, 3, 4, 5, 6+i, 0, time.UTC)
			}
			if op.ID == "" && ids {
				op.ID = fmt.Sprintf("materializertest-%d", i+1)
			}
			shown := fmt.Sprintf("%T%+v", op.Body, op.Body)
			kind, encoded, err := f.Operations.Encode(op.Body)
			if err != nil {
				return nil, fmt.Errorf("encoding the operation at seq %d of %s, %s: %w", i+1, id, shown, err)
			}
			d.shown = append(d.shown, shown)
			d.entries = append(d.entries, store.Entry{ID: op.ID, Kind: kind, Time: op.Time.UTC(), Meta: op.Meta, Body: bytes.Clone(encoded)})
		}
		if len(d.entries) > 0 {
			f.documents = append(f.documents, d)
		}
	}
	if len(f.documents) == 0 {
		return nil, errors.New("there is no operation to fold")
	}
	for _, d := range f.documents {
		key := store.Key{Collection: spec.Name, ID: d.id}
		if err := store.CheckAppends([]store.Append{{Key: key, Entries: d.entries}}, 0); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// at says where something was found.
func (d *document) at(i int) string {
	return fmt.Sprintf("document %s at seq %d, %s", d.id, i+1, d.shown[i])
}

// misuse is what no fold or codec may do, whatever comes of it.
type misuse struct{ what string }

func (m *misuse) Error() string { return m.what }

// step folds the next operation. After an error the state is lost.
func (f *folder[S, O]) step(r *run[S]) error {
	e := &r.entries[r.n]
	body, meta := bytes.Clone(e.Body), bytes.Clone(e.Meta)
	return guard(func() error {
		op, err := f.Operations.Decode(e.Kind, body)
		if err != nil {
			return fmt.Errorf("decoding the operation: %w", err)
		}
		overwrite(body)
		before, stable := f.encodedTwice(op)
		next, err := f.Fold(r.state, materializer.Operation[O]{
			Document: r.id, Seq: int64(r.n + 1), ID: e.ID, Kind: e.Kind, Meta: meta, Time: e.Time, Body: op,
		})
		if !bytes.Equal(meta, e.Meta) {
			return &misuse{"the fold changes Meta, which it must leave alone"}
		}
		if after, ok := f.encodedTwice(op); stable && ok && before != after {
			return &misuse{"the fold changes the operation in place, to " + after}
		}
		if err != nil && !errors.Is(err, materializer.Deleted) {
			return err
		}
		r.state, r.deleted = next, err != nil
		if r.deleted {
			var zero S
			r.state = zero
		}
		r.n++
		return nil
	})
}

// encodedTwice encodes an operation, if that gives the same twice: it need not.
func (f *folder[S, O]) encodedTwice(op O) (string, bool) {
	_, one, err := f.Operations.Encode(op)
	text := string(one)
	_, other, err2 := f.Operations.Encode(op)
	return text, err == nil && err2 == nil && text == string(other)
}

// outcome encodes the state of a run.
func (f *folder[S, O]) outcome(r *run[S]) (o outcome, err error) {
	if r.deleted || r.n == 0 {
		return outcome{deleted: r.deleted}, nil
	}
	err = guard(func() error {
		view, err := f.Views.Encode(r.state)
		o.view = bytes.Clone(view)
		return err
	})
	if err != nil {
		return o, fmt.Errorf("encoding the view of %s: %w", r.at(r.n-1), err)
	}
	return o, nil
}

// store makes the state of a run what the engine gets that loads it.
func (f *folder[S, O]) store(r *run[S]) error {
	o, err := f.outcome(r)
	if err != nil || o.deleted || r.n == 0 {
		return err
	}
	err = guard(func() (err error) {
		r.state, err = f.Views.Decode(o.view)
		overwrite(o.view)
		return err
	})
	if err != nil {
		return fmt.Errorf("decoding the view of %s: %w", r.at(r.n-1), err)
	}
	return nil
}

// overwrite shows who keeps bytes that are not his.
func overwrite(b []byte) {
	for i := range b {
		b[i] = '#'
	}
}

// guard makes an error of a panic.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &materializer.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
