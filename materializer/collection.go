package materializer

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/store"
)

// Spec describes a collection: documents that share one fold. S is the state
// that a fold makes, O the type of the operations.
type Spec[S, O any] struct {
	// Name names the collection in the store: [a-z][a-z0-9_-]{0,62}.
	Name string
	// Version is the version of the fold, 1 or more. A store that has the
	// collection at another version refuses it.
	Version int
	// Operations encodes and decodes operations. nil means JSON, which works
	// unless O is an interface; for those there is [Kinds].
	Operations OperationCodec[O]
	// Views encodes and decodes states. nil means JSON.
	Views ViewCodec[S]
	// Fold returns the state after an operation. It must be pure: the same
	// operations give the same state, whenever and how often they are folded, in
	// one run or in several with the state stored in between. The first operation
	// of a document gets the zero state. Fold owns the state for one run, and may
	// change and return it; it must not keep it. It may be called for several
	// documents at once.
	//
	// An error or a panic fails the run at this operation; see [Permanent],
	// [RetryAfter] and [Retry]. [Deleted] is none: it deletes the document.
	Fold func(state S, op Operation[O]) (S, error)
	// Retry says what happens when Fold fails.
	Retry Retry
	// TimeLimit is how long one run of one document may take. It is looked at
	// between operations; a run that is over it stops there and counts as failed,
	// and what it has folded until then is kept. 0 means 1 minute, negative none.
	TimeLimit time.Duration
	// MinInterval is the least time from the start of one run of a document to that
	// of the next, to spare a document that changes all the time. The first run is
	// never delayed, and neither are the slices of a document that is too large for
	// one. A reader that asks for [AtLeast] waits as long. It is kept for as many
	// documents at a time as Config.Queue, and not across a restart. 0 means none.
	MinInterval time.Duration
}

// Operation is an operation as a fold gets it.
type Operation[O any] struct {
	// Document is the id of the document.
	Document string
	// Seq is the operation's number in its document, from 1 without gaps.
	Seq int64
	// ID, Kind and Meta are as they were appended. Meta must not be changed.
	ID, Kind string
	Meta     []byte
	// Time is the application's time of the operation, or the store's if it gave
	// none, in UTC.
	Time time.Time
	// Discarded tells that no fold gets the operation, see [Collection.Discard].
	Discarded bool
	// History tells that it was appended as history, see [Change.AsHistory]. A fold
	// does not see it: it is always false there.
	History bool
	// Body is the operation itself.
	Body O
}

// Collection is a registered collection: the typed way to its documents.
type Collection[S, O any] struct {
	m    *Materializer
	spec Spec[S, O]
}

// collection is what the engine knows of one: the fold without its types.
type collection struct {
	name        string
	retry       Retry
	timeLimit   time.Duration
	minInterval time.Duration
	fold        func(ctx context.Context, r *foldRun) folded
	// paused is as the store says. It is changed under Materializer.pausing.
	paused atomic.Bool
}

// registerPatience is how long Register waits for another process that writes.
const registerPatience = 10 * time.Second

// Register adds a collection to a materializer, before its Run, and to its
// store, if it is not there. Errors: [ErrInvalid] for what the spec lacks,
// [ErrVersion], [ErrStarted], [ErrBusy] if another process keeps the store from
// being written for 10 s, and those of the store.
func Register[S, O any](m *Materializer, spec Spec[S, O]) (*Collection[S, O], error) {
	spec, err := spec.complete()
	if err != nil {
		return nil, err
	}
	c := &Collection[S, O]{m: m, spec: spec}
	if err := m.addable(spec.Name); err != nil {
		return nil, err // before the store keeps the name
	}
	ctx, cancel := context.WithTimeout(context.Background(), registerPatience)
	defer cancel()
	if err := m.register(ctx, spec.Name, spec.Version); err != nil {
		return nil, err
	}
	err = m.add(&collection{
		name:        spec.Name,
		retry:       spec.Retry,
		timeLimit:   spec.TimeLimit,
		minInterval: spec.MinInterval,
		fold:        c.fold,
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// complete checks a spec and sets what it leaves open.
func (spec Spec[S, O]) complete() (Spec[S, O], error) {
	if err := store.CheckCollection(spec.Name); err != nil {
		return spec, err
	}
	if err := store.CheckVersion(spec.Version); err != nil {
		return spec, err
	}
	if spec.Fold == nil {
		return spec, &InvalidError{Field: "fold of " + spec.Name, Got: "nil", Want: "a function"}
	}
	if spec.Operations == nil {
		if t := reflect.TypeFor[O](); t.Kind() == reflect.Interface {
			return spec, &InvalidError{
				Field: "operations of " + spec.Name,
				Got:   fmt.Sprintf("the interface %v without a codec", t),
				Want:  "Spec.Operations, for example Kinds",
			}
		}
		if err := checkJSON("operations of "+spec.Name, reflect.TypeFor[O]()); err != nil {
			return spec, err
		}
		spec.Operations = jsonOperations[O]{}
	}
	if checked, ok := spec.Operations.(interface{ check() error }); ok {
		if err := checked.check(); err != nil {
			return spec, fmt.Errorf("operations of %s: %w", spec.Name, err)
		}
	}
	if spec.Views == nil {
		if err := checkJSON("state of "+spec.Name, reflect.TypeFor[S]()); err != nil {
			return spec, err
		}
		spec.Views = jsonViews[S]{}
	}
	if spec.TimeLimit == 0 {
		spec.TimeLimit = defaultTimeLimit
	}
	if spec.MinInterval < 0 {
		return spec, &InvalidError{Field: "least interval of " + spec.Name, Got: spec.MinInterval.String(), Want: "0 or more"}
	}
	return spec, nil
}

// register registers the collection with the store. As long as nobody builds a new
// generation, another version than the one that is served is refused. The second look
// is for another process that came in between.
func (m *Materializer) register(ctx context.Context, name string, version int) error {
	if err := m.refuseOther(ctx, name, version); err != nil {
		return err
	}
	if err := m.st.Register(ctx, name, version); err != nil {
		return err
	}
	return m.refuseOther(ctx, name, version)
}

// refuseOther returns a [*VersionError] if another version of the collection is
// served.
func (m *Materializer) refuseOther(ctx context.Context, name string, version int) error {
	stored, err := m.st.Collections(ctx)
	if err != nil {
		return err
	}
	for _, c := range stored {
		if c.Name == name && c.Version != 0 && c.Version != version {
			return &VersionError{Collection: name, Stored: c.Version, Registered: version}
		}
	}
	return nil
}

// Name returns the collection's name.
func (c *Collection[S, O]) Name() string { return c.spec.Name }

func (c *Collection[S, O]) key(id string) Key {
	return Key{Collection: c.spec.Name, ID: id}
}
