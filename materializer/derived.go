package materializer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// Derived is a derived collection, whose documents are made from those of others: see
// [ByContributions] and [ByReads]. A derived document is a function of its sources: of what
// they contribute or of what it read, and of nothing else. In which order they changed, how many
// writers there were, which source was late, crashes and repeats do not show in it.
//
// It has no operations. Applied and Head of its views count the changes of sources that
// concerned it.
type Derived[V any] struct {
	// c is the collection as it is read, and the fold of deltas if there is one.
	c       *Collection[V, store.Delta]
	sources []origin
	// maps are what is done with the views of each source.
	maps          []func(doc store.Document, emit func(key string, body []byte) error) error
	touch, deltas bool
	// make makes a state from all there is.
	make func(ctx context.Context, r *foldRun) made[V]
}

// made is a state that was made from all there is.
type made[V any] struct {
	state   V
	deleted bool
	read    int // how much was read
	reads   []store.Read
	// err is why it could not be made, trouble the same if it is nobody's fault here.
	err, trouble error
}

func newDerived[V any](
	m *Materializer, name string, version int, views ViewCodec[V], old func(int, []byte) (V, error), retry Retry, limit, interval, keepFor time.Duration,
) *Derived[V] {
	return &Derived[V]{c: &Collection[V, store.Delta]{m: m, spec: Spec[V, store.Delta]{
		Name: name, Version: version, Operations: deltas{}, Views: views, Old: old, Retry: retry, TimeLimit: limit, MinInterval: interval, KeepFor: keepFor,
	}}}
}

// register adds the collection and its mappings to the materializer, and to its store.
func (d *Derived[V]) register() (*Derived[V], error) {
	m, spec := d.c.m, &d.c.spec
	if err := d.complete(); err != nil {
		return nil, err
	}
	if err := m.addable(spec.Name, spec.Version); err != nil {
		return nil, err // before the store keeps the name
	}
	ctx, cancel := context.WithTimeout(context.Background(), registerPatience)
	defer cancel()
	derivation := store.Derivation{Name: spec.Name, Version: spec.Version, Deltas: d.deltas}
	for _, s := range d.sources {
		derivation.Sources = append(derivation.Sources, s.name)
	}
	if err := m.st.Derive(ctx, derivation); err != nil {
		return nil, err
	}
	// Before it is added: after an error it may be registered again.
	stored, err := m.st.Collections(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.add(d.collection()); err != nil {
		return nil, err
	}
	m.refreshing.Lock()
	defer m.refreshing.Unlock()
	m.learn(stored)
	return d, nil
}

// complete checks the collection, and fills in what is left out.
func (d *Derived[V]) complete() error {
	m, spec := d.c.m, &d.c.spec
	if m == nil {
		return &InvalidError{Field: "materializer of " + spec.Name, Got: "nil", Want: "a materializer"}
	}
	if err := checkSources(m, spec.Name, d.sources); err != nil {
		return err
	}
	if spec.Fold == nil { // nothing is folded
		spec.Fold = func(v V, _ Operation[store.Delta]) (V, error) { return v, nil }
	}
	complete, err := spec.complete()
	if err == nil {
		*spec = complete
	}
	return err
}

// collection returns what the engine knows of the collection and its mappings.
func (d *Derived[V]) collection() *collection {
	spec := &d.c.spec
	k, run := making, d.all
	if d.deltas {
		k, run = adding, d.add
	}
	of := &collection{
		name: spec.Name, version: spec.Version, own: d.c.ownKey("").Collection, kind: k,
		retry: spec.Retry, timeLimit: spec.TimeLimit, minInterval: spec.MinInterval, keepFor: spec.KeepFor, fold: run,
	}
	for i, s := range d.sources {
		p := &mapper{m: d.c.m, derived: spec.Name, source: s.name, touch: d.touch, pairs: d.maps[i]}
		of.mappings = append(of.mappings, &collection{
			name: d.mapping(s.name), version: spec.Version, own: of.own + "<" + s.name, kind: mapping,
			retry: spec.Retry, timeLimit: spec.TimeLimit, fold: p.run,
		})
	}
	return of
}

// add folds the deltas of a document. When nothing contributes to it any more, it is
// deleted. If a delta does not say any more what it was, because its source was forgotten,
// or fails with a contribution that is not there any more, all contributions make the document anew.
func (d *Derived[V]) add(ctx context.Context, r *foldRun) folded {
	if slices.ContainsFunc(r.ops, func(op store.Operation) bool { return len(op.Body) == 0 }) {
		return d.anew(ctx, r)
	}
	f := d.c.fold(ctx, r)
	if f.err != nil && f.err != errLeaseEnds && ctx.Err() == nil && r.limit.Check() == nil {
		if whole := d.anew(ctx, r); whole.err == nil && whole.trouble == nil {
			return whole
		}
	}
	if f.err == nil && r.applied+int64(f.n) == r.doc.Head && r.doc.Contributions == 0 {
		f.view, f.deleted = nil, true
	}
	return f
}

// anew makes the view of a document whose deltas are folded otherwise from all contributions.
// It must not contain one whose delta comes later, or that would be added twice: so the
// head must be the same before and after they are read. Those that fit into the run's room
// are read before anything is made of them, so that a document which changes all the time
// is in the way of reading only.
func (d *Derived[V]) anew(ctx context.Context, r *foldRun) folded {
	head := r.doc.Head
	for range anewTries {
		if err := r.mayGoOn(ctx); err != nil {
			return folded{err: err}
		}
		if err := (contributions{m: d.c.m, r: r}).readAhead(ctx); err != nil {
			return folded{trouble: err}
		}
		var f folded
		if !r.whole { // the others are read while it is made
			if f = d.all(ctx, r); f.err != nil || f.trouble != nil {
				return f
			}
		}
		docs, err := d.c.m.st.Load(ctx, []store.Key{r.key}, store.WithoutViews)
		if err != nil {
			return folded{trouble: err}
		}
		if docs[0].Head == head {
			if r.whole {
				f = d.all(ctx, r)
			}
			if f.err == nil && f.trouble == nil {
				f.n = int(head - r.applied)
			}
			return f
		}
		if head = docs[0].Head; head < r.doc.Head {
			break // it is not there any more
		}
	}
	return folded{trouble: errMoved}
}

// anewTries is how often a document is read that changes meanwhile before it is left for a while.
const anewTries = 5

// all makes the view of a document from all there is, which contains at least all deltas
// up to the head that was loaded.
func (d *Derived[V]) all(ctx context.Context, r *foldRun) folded {
	of := d.make(ctx, r)
	f := folded{n: int(r.doc.Head - r.applied), reads: of.reads, deleted: of.deleted}
	switch {
	case of.trouble != nil:
		return folded{trouble: of.trouble}
	case of.err == nil && !of.deleted:
		f.view, of.err = d.encode(of.state)
	}
	if of.err != nil {
		return folded{err: of.err}
	}
	return f
}

func (d *Derived[V]) encode(state V) (view []byte, err error) {
	err = worker.Guard(func() (err error) {
		view, err = d.c.spec.Views.Encode(state)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the view: %w", err)
	}
	if view == nil {
		view = []byte{}
	}
	return view, nil
}
