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
	// Version is the version of the fold, 1 or more. One that is higher than what is
	// served starts a generation: its views are made beside those that are served, and
	// are served when they have caught up. A lower one is refused, unless the
	// store has its generation still.
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
	// Old decodes a view that the fold of another version made: an earlier one, as long as
	// that is served, or a later one, in a process that still has this. nil means that
	// Views is tried. Reads use it, and no fold does. It must not keep view.
	Old func(version int, view []byte) (S, error)
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
	// KeepFor is for how long the generation that was served is kept when that of this
	// version is: so long it can be gone back to, see [Collection.Rollback], and is folded
	// on by processes that have its fold. Another switch drops it earlier. 0 means a
	// day, negative not at all.
	KeepFor time.Duration
}

const defaultKeepFor = 24 * time.Hour

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
	name    string
	version int
	kind    kind
	// own is the generation that the fold makes, and nothing else: the name with the
	// version. Runs call their documents by it, readers by the name.
	own         string
	retry       Retry
	timeLimit   time.Duration
	minInterval time.Duration
	fold        func(ctx context.Context, r *foldRun) folded
	// paused and served, which is whether own is what the name means, are as the store
	// says. They are changed under Materializer.refreshing.
	paused, served atomic.Bool
	// mappings are those of a derived collection, in the order of its sources.
	mappings []*collection
	// held is until when what is served is held, by this process's clock in nanoseconds.
	held atomic.Int64
	// suspects is the position up to which dirty documents are suspects, 0 if none are.
	suspects atomic.Int64
	// listed are the ids of the suspects among these, nil if all are.
	listed  atomic.Pointer[map[string]bool]
	keepFor time.Duration
	// told is set when it was said that own is not served.
	told bool
}

// isHeld reports whether no document is to be run for the moment, before a switch.
func (c *collection) isHeld() bool {
	until := c.held.Load()
	return until > 0 && c.served.Load() && time.Now().UnixNano() < until
}

// registerPatience is how long Register waits for another process that writes.
const registerPatience = 10 * time.Second

// Register adds a collection to a materializer, before its Run, and to its
// store, if it is not there. Several versions of one collection may be registered, the
// lowest first: each fold makes its own generation, so that what is served stays fresh
// while another one is built. Errors: [ErrInvalid] for what the spec lacks,
// [ErrVersion] for a version that is lower than what is served or built, and of which
// there is no generation, [ErrStarted], [ErrBusy] if another process keeps the store
// from being written for 10 s, and those of the store.
func Register[S, O any](m *Materializer, spec Spec[S, O]) (*Collection[S, O], error) {
	spec, err := spec.complete()
	if err != nil {
		return nil, err
	}
	c := &Collection[S, O]{m: m, spec: spec}
	if err := m.addable(spec.Name, spec.Version); err != nil {
		return nil, err // before the store keeps the name
	}
	ctx, cancel := context.WithTimeout(context.Background(), registerPatience)
	defer cancel()
	if err := m.st.Register(ctx, spec.Name, spec.Version); err != nil {
		return nil, err
	}
	stored, err := m.st.Collections(ctx)
	if err != nil {
		return nil, err
	}
	err = m.add(&collection{
		name:        spec.Name,
		version:     spec.Version,
		own:         c.ownKey("").Collection,
		retry:       spec.Retry,
		timeLimit:   spec.TimeLimit,
		minInterval: spec.MinInterval,
		keepFor:     spec.KeepFor,
		fold:        c.fold,
	})
	if err != nil {
		return nil, err
	}
	m.refreshing.Lock()
	defer m.refreshing.Unlock()
	m.learn(stored)
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
	switch {
	case spec.KeepFor == 0:
		spec.KeepFor = defaultKeepFor
	case spec.KeepFor < 0:
		spec.KeepFor = 1 // it is over at once, and the store knows that
	}
	if spec.MinInterval < 0 {
		return spec, &InvalidError{Field: "least interval of " + spec.Name, Got: spec.MinInterval.String(), Want: "0 or more"}
	}
	return spec, nil
}

// Name returns the collection's name, without a version.
func (c *Collection[S, O]) Name() string { return c.spec.Name }

// key returns a document as readers call it: in the generation that is served.
func (c *Collection[S, O]) key(id string) Key {
	return Key{Collection: c.spec.Name, ID: id}
}

// ownKey returns a document in the generation that the fold of c makes.
func (c *Collection[S, O]) ownKey(id string) Key {
	return Key{Collection: store.CollectionName{Name: c.spec.Name, Version: c.spec.Version}.String(), ID: id}
}
