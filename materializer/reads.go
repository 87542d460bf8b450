package materializer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// Reads describes a derived collection whose documents are each built by reading documents
// of its sources. What a build reads is recorded, and a document is built again when
// something changes that it has read, or that concerns it.
//
// When another version of a source is served, the documents are built again one after the other, and
// are served meanwhile: until all are, some are built of the old version, and reads with [AtLeast]
// wait for all.
type Reads[V any] struct {
	// Name names the collection in the store: [a-z][a-z0-9_-]{0,62}.
	Name string
	// Version is the version of all functions here, 1 or more, and also of the sources'
	// number and order. See [Spec.Version].
	Version int
	// Sources are the collections that Build may read, each once, made by [Concerns]; 1
	// to 64.
	Sources []Concern
	// Build returns the state of a derived document. It reads its sources with [Read],
	// and its result must depend on nothing else: it must be pure, and may be called for several documents
	// at once. [Deleted] instead of an error deletes the document. It is built
	// again as soon as something changes that it has read then. It may read
	// [store.MaxReads] documents, and fails for good beyond.
	Build func(r *Reader, id string) (V, error)
	// Views encodes and decodes states; nil means JSON.
	Views ViewCodec[V]
	// Old, Retry, TimeLimit, MinInterval and KeepFor are as in [Spec]. Retry and TimeLimit are also
	// those of finding out which documents a source document concerns.
	Old         func(version int, view []byte) (V, error)
	Retry       Retry
	TimeLimit   time.Duration
	MinInterval time.Duration
	KeepFor     time.Duration
}

// Concern is a source of a derived collection by reads; see [Concerns].
type Concern struct {
	origin
	keys func(doc store.Document) ([]string, error)
}

// Concerns makes a source of a collection, which may be derived itself. keys returns the ids
// of the derived documents that the view of a document concerns, besides those that
// have read it: at least those that should be built when the document appears. nil means
// that there are none. It must be pure. A document
// that is deleted or has no view yet concerns only those that have read it.
func Concerns[S any](collection Readable[S], keys func(id string, state S) []string) Concern {
	return Concern{sourceOf(collection), func(doc store.Document) ([]string, error) {
		if keys == nil {
			return nil, nil
		}
		state, err := stateOf(collection, doc)
		if err != nil {
			return nil, err
		}
		return keys(doc.Key.ID, state), nil
	}}
}

// ByReads adds a derived collection to a materializer, before its Run, and to its store.
// Errors as for [ByContributions].
func ByReads[V any](m *Materializer, spec Reads[V]) (*Derived[V], error) {
	d, err := derivedByReads(m, spec)
	if err != nil {
		return nil, err
	}
	return d.register()
}

// derivedByReads returns a derived collection that is not registered.
func derivedByReads[V any](m *Materializer, spec Reads[V]) (*Derived[V], error) {
	if spec.Build == nil {
		return nil, &InvalidError{Field: "build of " + spec.Name, Got: "nil", Want: "a function"}
	}
	d := newDerived(m, spec.Name, spec.Version, spec.Views, spec.Old, spec.Retry, spec.TimeLimit, spec.MinInterval, spec.KeepFor)
	d.touch = true
	for _, s := range spec.Sources {
		d.sources = append(d.sources, s.origin)
		d.maps = append(d.maps, func(doc store.Document, emit func(key string, body []byte) error) error {
			keys, err := s.keys(doc)
			for i := 0; err == nil && i < len(keys); i++ {
				err = emit(keys[i], nil)
			}
			return err
		})
	}
	d.make = func(ctx context.Context, r *foldRun) made[V] { return d.build(ctx, r, spec.Build) }
	return d, nil
}

// Reader is what a build reads with. It must not be used after the build.
type Reader struct {
	derived string
	sources []origin
	check   func() error
	load    func(Key) (store.Document, error)

	mu    sync.Mutex // guards the following fields; not held while reading
	over  bool
	reads map[Key]int64
	// wrong is why the result of the build is worth nothing, whatever it makes of the error that it got.
	wrong error
}

// errMoved means that a document has changed that a build has read twice.
var errMoved = errors.New("refold: a source changed while it was read")

// Read returns the state of a document of a source, as it is served. Errors:
// [ErrNotFound] if there is no such document, or no view of it yet, and [ErrDeleted],
// which the build may go on after; it is built again when that changes. After any other
// error the build fails, whatever it returns: the collection is not one of its
// sources, it has read [store.MaxReads] documents already, the store cannot be read, or the time
// limit is over.
func Read[S any](r *Reader, collection Readable[S], id string) (S, error) {
	var zero S
	doc, err := r.read(sourceOf(collection), id)
	if err != nil {
		return zero, err
	}
	state, err := stateOf(collection, doc)
	if err != nil {
		return zero, r.fail(err)
	}
	return state, nil
}

func (r *Reader) read(of origin, id string) (store.Document, error) {
	key := Key{Collection: of.name, ID: id}
	is := func(s origin) bool { return s.m == of.m && s.name == of.name }
	known := false
	for _, s := range r.sources {
		known = known || is(s)
	}
	if !known {
		return store.Document{}, r.fail(Permanent(fmt.Errorf("refold: a build of %s reads %q, which is not one of its sources", r.derived, of.name)))
	}
	if err := store.CheckKey(key); err != nil {
		return store.Document{}, r.fail(Permanent(err))
	}
	if err := r.check(); err != nil {
		return store.Document{}, r.fail(err)
	}
	doc, err := r.load(key)
	if err != nil {
		return store.Document{}, r.fail(&troubleError{err})
	}
	r.mu.Lock()
	before, again := r.reads[key]
	over, full := r.over, !again && len(r.reads) == store.MaxReads
	if !again && !over && !full {
		r.reads[key] = doc.Changed
	}
	r.mu.Unlock()
	switch {
	case over:
		return doc, errors.New("refold: a build reads after its end")
	case full:
		return doc, r.fail(Permanent(fmt.Errorf("refold: a build of %s reads more than %d documents", r.derived, store.MaxReads)))
	case again && before != doc.Changed:
		return doc, r.fail(errMoved)
	case doc.Deleted:
		return doc, fmt.Errorf("%w: %s", ErrDeleted, key)
	case doc.Applied == 0:
		return doc, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	return doc, nil
}

// fail says that the build is worth nothing.
func (r *Reader) fail(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrong == nil {
		r.wrong = err
	}
	return err
}

// end returns what was read, or why the build is worth nothing.
func (r *Reader) end() ([]store.Read, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	reads := make([]store.Read, 0, len(r.reads))
	for key, version := range r.reads {
		reads = append(reads, store.Read{Key: key, Version: version})
	}
	slices.SortFunc(reads, func(a, b store.Read) int { return compareKeys(a.Key, b.Key) })
	return reads, r.wrong
}

// build makes a state by reading.
func (d *Derived[V]) build(ctx context.Context, run *foldRun, build func(*Reader, string) (V, error)) (of made[V]) {
	r := &Reader{
		derived: d.c.spec.Name, sources: d.sources, reads: make(map[Key]int64),
		check: func() error { return run.mayGoOn(ctx) },
		load: func(key Key) (store.Document, error) {
			docs, err := d.c.m.st.Load(ctx, []store.Key{key}, store.WithViews)
			if err != nil {
				return store.Document{}, err
			}
			return docs[0], nil
		},
	}
	err := worker.Guard(func() (err error) {
		of.state, err = build(r, run.key.ID)
		return err
	})
	reads, wrong := r.end()
	if wrong != nil {
		err = wrong
	}
	_, unreadable := errors.AsType[*unreadableError](err)
	trouble, failed := errors.AsType[*troubleError](err)
	switch {
	case errors.Is(err, errMoved):
		of.trouble = errMoved
	case failed:
		of.trouble = trouble.error
	case unreadable:
		of.trouble = err
	case err != nil && errors.Is(err, Deleted):
		of.deleted = true
	default:
		of.err = err
	}
	of.reads, of.read = reads, len(reads)
	return of
}

// troubleError is an error of the store, which is no failure of who reads it.
type troubleError struct{ error }

func (e *troubleError) Unwrap() error { return e.error }
