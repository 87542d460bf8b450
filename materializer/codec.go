package materializer

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/refold-go/refold/store"
)

// OperationCodec turns operations into what is stored and back. Both methods may
// be called at once from any number of goroutines. Old kinds are decoded for as
// long as operations of them are in the log: that is the place for upcasting.
type OperationCodec[O any] interface {
	// Encode returns the operation's kind, which may be empty, and its body.
	Encode(op O) (kind string, body []byte, err error)
	// Decode reads what Encode wrote, now or in an earlier version of the program.
	// For a kind that it does not know it returns an error that is
	// [ErrUnknownKind]. It must not keep body.
	Decode(kind string, body []byte) (O, error)
}

// ViewCodec turns states into stored views and back. Both methods may be called
// at once from any number of goroutines. Encode must be deterministic: equal
// states give equal bytes.
type ViewCodec[S any] interface {
	Encode(state S) ([]byte, error)
	// Decode must not keep view.
	Decode(view []byte) (S, error)
}

// checkJSON refuses a type of which JSON would keep nothing: a struct with fields,
// none of them exported, that does not marshal itself.
func checkJSON(what string, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	p := reflect.PointerTo(t)
	if t.Kind() != reflect.Struct || t.NumField() == 0 ||
		p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() {
			return nil
		}
	}
	return &InvalidError{Field: what, Got: fmt.Sprintf("%v, which has no exported field", t), Want: "one that JSON can keep, or a codec"}
}

// jsonViews is the default view codec. encoding/json sorts the keys of maps, so
// it is deterministic as long as the application's own marshalers are.
type jsonViews[S any] struct{}

func (jsonViews[S]) Encode(state S) ([]byte, error) { return json.Marshal(state) }

func (jsonViews[S]) Decode(view []byte) (state S, err error) {
	err = json.Unmarshal(view, &state)
	return state, err
}

// jsonOperations is the default codec for operations of one type: no kind, and
// a body in JSON.
type jsonOperations[O any] struct{}

func (jsonOperations[O]) Encode(op O) (string, []byte, error) {
	value := any(op) // once: each conversion is an allocation
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer && v.IsNil() {
		return "", nil, &InvalidError{Field: "operation", Got: fmt.Sprintf("a nil %v", v.Type()), Want: "a value"}
	}
	body, err := json.Marshal(value)
	return "", body, err
}

func (jsonOperations[O]) Decode(kind string, body []byte) (op O, err error) {
	if kind != "" {
		return op, fmt.Errorf("%w: %q, only operations without a kind are expected", ErrUnknownKind, kind)
	}
	err = json.Unmarshal(body, &op)
	return op, err
}

// Kinds is the codec for operations of several types behind one interface: each
// kind is the JSON of one concrete type. The values are examples of their types
// and are not used otherwise; a pointer stands for operations that are
// pointers. What is wrong with the map, [Register] reports.
func Kinds[O any](examples map[string]O) OperationCodec[O] {
	k := &kinds[O]{types: make(map[string]reflect.Type), names: make(map[reflect.Type]string)}
	for _, kind := range slices.Sorted(maps.Keys(examples)) {
		example := examples[kind]
		t := reflect.TypeOf(example)
		switch err := store.CheckKind(kind); {
		case err != nil:
			k.wrong = err
		case kind == "":
			k.wrong = &InvalidError{Field: "kind", Got: "0 bytes", Want: fmt.Sprintf("1 to %d bytes", store.MaxKind)}
		case t == nil:
			k.wrong = &InvalidError{Field: "kind " + kind, Got: "nil", Want: "a value of its type"}
		case k.names[t] != "":
			k.wrong = &InvalidError{Field: "kind " + kind, Got: fmt.Sprintf("%v, like kind %s", t, k.names[t]), Want: "a type of its own"}
		default:
			k.types[kind], k.names[t] = t, kind
		}
	}
	if len(examples) == 0 {
		k.wrong = &InvalidError{Field: "kinds", Got: "none", Want: "at least one"}
	}
	return k
}

type kinds[O any] struct {
	types map[string]reflect.Type
	names map[reflect.Type]string
	wrong error
}

func (k *kinds[O]) check() error { return k.wrong }

func (k *kinds[O]) Encode(op O) (string, []byte, error) {
	t := reflect.TypeOf(op)
	kind, ok := k.names[t]
	if ok && t.Kind() == reflect.Pointer && reflect.ValueOf(op).IsNil() {
		return "", nil, &InvalidError{Field: "operation", Got: fmt.Sprintf("a nil %v", t), Want: "a value"}
	}
	if !ok {
		return "", nil, &InvalidError{Field: "operation", Got: fmt.Sprintf("type %v", t), Want: "a type that Kinds names"}
	}
	body, err := json.Marshal(op)
	return kind, body, err
}

func (k *kinds[O]) Decode(kind string, body []byte) (op O, err error) {
	t, ok := k.types[kind]
	if !ok {
		return op, fmt.Errorf("%w: %q", ErrUnknownKind, kind)
	}
	if t.Kind() == reflect.Pointer {
		v := reflect.New(t.Elem())
		err = json.Unmarshal(body, v.Interface())
		return v.Interface().(O), err
	}
	v := reflect.New(t)
	err = json.Unmarshal(body, v.Interface())
	return v.Elem().Interface().(O), err
}
