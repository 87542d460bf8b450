package materializer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// Contributions describes a derived collection whose documents are each made from the
// contributions to it: every view of a source is mapped to keys, which are ids of
// derived documents, with a contribution for each. Contributions are stored, so that a
// source document which changes costs what is different in it, however many there are. C
// is a contribution, V the state that is made of them.
//
// When another version of a source is served, the documents are made again from its views one after
// the other, and are served meanwhile: until all are, a state may be made of contributions of both
// versions, and reads with [AtLeast] wait for all.
type Contributions[C, V any] struct {
	// Name names the collection in the store: [a-z][a-z0-9_-]{0,62}.
	Name string
	// Version is the version of all functions here, 1 or more, and also of the sources'
	// number and order. See [Spec.Version].
	Version int
	// Sources are the collections that contribute, each once, made by [From]; 1 to 64.
	Sources []Source[C]
	// Reduce returns the state of a derived document from all contributions to it, in
	// the order of Sources and of the bytes of the contributors' ids. It must be pure,
	// may be called for several documents at once, and is not called for a document that
	// has no contributions any more: that is deleted. [Deleted] instead of an error
	// deletes the document too.
	//
	// The sequence may be read several times, and reads from the store in pages.
	Reduce func(key string, all iter.Seq2[Contributor, C]) (V, error)
	// Add and Remove take the place of Reduce where the state can be changed by one
	// contribution in either direction, so that a change costs no look at the others. They get the zero
	// state for the first one, own it for one run, and may change and return it. They must undo each
	// other exactly, in any order: a sum of integers can, one of floating point numbers or a
	// maximum cannot. A contribution that changes is removed and added. Both or neither are set.
	Add, Remove func(state V, by Contributor, contribution C) (V, error)
	// Contributions and Views encode and decode contributions and states; nil means JSON.
	Contributions ViewCodec[C]
	Views         ViewCodec[V]
	// Old, Retry, TimeLimit, MinInterval and KeepFor are as in [Spec]. Retry and TimeLimit are also
	// those of mapping a source document.
	Old         func(version int, view []byte) (V, error)
	Retry       Retry
	TimeLimit   time.Duration
	MinInterval time.Duration
	KeepFor     time.Duration
}

// Contributor is who contributes: the document Source of the source at place Input.
type Contributor = store.Contributor

// Source is a source of a derived collection by contributions; see [From].
type Source[C any] struct {
	origin
	pairs func(doc store.Document, emit func(key string, c C)) error
}

// From makes a source of a collection, which may be derived itself. contribute is called with
// the view of a document, and calls emit with each key to which it contributes, at most
// once for a key. It must be pure, and may be called for several documents at once. A
// document that is deleted or has no view yet contributes nothing. An error or a panic fails the
// run as one of a fold would; see [Retry].
func From[S, C any](collection Readable[S], contribute func(id string, state S, emit func(key string, c C)) error) Source[C] {
	of := sourceOf(collection)
	if contribute == nil {
		of.wrong = "nil for a function"
	}
	return Source[C]{of, func(doc store.Document, emit func(string, C)) error {
		state, err := stateOf(collection, doc)
		if err != nil {
			return err
		}
		return contribute(doc.Key.ID, state, emit)
	}}
}

// ByContributions adds a derived collection to a materializer, before its Run, and to its
// store. Errors as for [Register], and [*CycleError] if a source is made of the
// collection by another process.
func ByContributions[C, V any](m *Materializer, spec Contributions[C, V]) (*Derived[V], error) {
	d, err := derivedByContributions(m, spec)
	if err != nil {
		return nil, err
	}
	return d.register()
}

// derivedByContributions returns a derived collection that is not registered.
func derivedByContributions[C, V any](m *Materializer, spec Contributions[C, V]) (*Derived[V], error) {
	incremental := spec.Add != nil
	if incremental == (spec.Reduce != nil) || incremental != (spec.Remove != nil) {
		return nil, &InvalidError{Field: "functions of " + spec.Name, Got: "another set of them", Want: "Reduce, or Add and Remove"}
	}
	if spec.Contributions == nil {
		if err := checkJSON("contributions of "+spec.Name, reflect.TypeFor[C]()); err != nil {
			return nil, err
		}
		spec.Contributions = jsonViews[C]{}
	}
	d := newDerived(m, spec.Name, spec.Version, spec.Views, spec.Old, spec.Retry, spec.TimeLimit, spec.MinInterval, spec.KeepFor)
	d.deltas = incremental
	for _, s := range spec.Sources {
		d.sources = append(d.sources, s.origin)
		pairs := s.pairs
		d.maps = append(d.maps, func(doc store.Document, emit func(key string, body []byte) error) error {
			return emitted(func(emit func(string, C)) error { return pairs(doc, emit) }, func(key string, c C) error {
				body, err := spec.Contributions.Encode(c)
				if err != nil {
					return fmt.Errorf("encoding the contribution to %q: %w", key, err)
				}
				return emit(key, body)
			})
		})
	}
	if incremental {
		d.c.spec.Fold = foldDelta(spec)
		spec.Reduce = addAll(spec.Add)
	}
	d.make = func(ctx context.Context, r *foldRun) made[V] { return reduceAll(ctx, m, r, spec) }
	return d, nil
}

// emitted calls a function that emits, and returns the first error of what is emitted or else
// its own.
func emitted[C any](f func(emit func(string, C)) error, take func(string, C) error) error {
	var wrong error
	err := f(func(key string, c C) {
		if wrong == nil {
			wrong = take(key, c)
		}
	})
	if wrong != nil {
		return wrong
	}
	return err
}

// reduceAll makes a state from all contributions.
func reduceAll[C, V any](ctx context.Context, m *Materializer, r *foldRun, spec Contributions[C, V]) (of made[V]) {
	c := contributions{m: m, r: r}
	first, err := r.ahead, error(nil)
	if len(first) == 0 && !r.whole {
		if first, err = c.page(ctx, Contributor{}, r.room); err != nil {
			return made[V]{trouble: err}
		}
	}
	if len(first) == 0 {
		return made[V]{deleted: true}
	}
	var wrong error
	all := func(yield func(Contributor, C) bool) {
		for page := first; len(page) > 0 && wrong == nil; {
			for i := range page {
				if wrong = r.mayGoOn(ctx); wrong != nil {
					return
				}
				body, err := spec.Contributions.Decode(page[i].Body)
				if err != nil {
					wrong = fmt.Errorf("decoding the contribution of %q: %w", page[i].Source, err)
					return
				}
				if of.read++; !yield(page[i].Contributor, body) {
					return
				}
			}
			if r.whole {
				return
			}
			if page, err = c.page(ctx, page[len(page)-1].Contributor, r.room); err != nil {
				of.trouble = err
				return
			}
		}
	}
	err = worker.Guard(func() (err error) {
		of.state, err = spec.Reduce(r.key.ID, all)
		return err
	})
	if wrong != nil {
		err = wrong // whatever was made of what was read
	}
	if err != nil && errors.Is(err, Deleted) {
		of.deleted, err = true, nil
	}
	of.err = err
	return of
}

// contributions reads those to one document.
type contributions struct {
	m *Materializer
	r *foldRun
}

func (c contributions) page(ctx context.Context, after Contributor, bytes int64) ([]store.Contribution, error) {
	if c.r.mapped != nil {
		return c.r.mapped(ctx, after)
	}
	return c.m.st.Contributions(ctx, c.r.key, after, store.Budget{Operations: contributionsAtOnce, Bytes: bytes})
}

// readAhead reads as many as fit into the run's room, and notes whether these are all.
func (c contributions) readAhead(ctx context.Context) error {
	c.r.ahead, c.r.whole = nil, false
	after := Contributor{}
	for left := c.r.room; left > 0; {
		page, err := c.page(ctx, after, left)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			c.r.whole = true
			return nil
		}
		for i := range page {
			left -= contributionSize + int64(len(page[i].Source)+len(page[i].Body))
		}
		after = page[len(page)-1].Contributor
		c.r.ahead = append(c.r.ahead, page...)
	}
	return nil
}

// contributionSize is about what a contribution takes in memory beside its bytes.
const contributionSize = 64

// contributionsAtOnce is how many contributions are read at once at most.
const contributionsAtOnce = 1024
