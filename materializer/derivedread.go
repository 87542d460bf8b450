package materializer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/refold-go/refold/store"
)

// Name returns the collection's name, without a version.
func (d *Derived[V]) Name() string { return d.c.Name() }

func (d *Derived[V]) reading() reading[V] { return d.c.reading() }

// Get returns the stored view of a derived document. With [AtLeast] it waits until what
// the token covers of the sources is in it, and of their sources. Parked documents are not
// waited for: if there is one on the way from what the token covers, which may concern the
// document or not, the view comes with [ErrParked] when all else is in it. Errors as for [Collection.Get];
// a document that nothing has concerned yet is [ErrNotFound].
func (d *Derived[V]) Get(ctx context.Context, id string, options ...ReadOption) (View[V], error) {
	m, key := d.c.m, d.c.key(id)
	if err := store.CheckKey(key); err != nil {
		return View[V]{}, err
	}
	var doc store.Document
	var parked, behind error
	look := func(ctx context.Context) (err error) {
		doc, parked, behind, err = d.look(ctx, key, options)
		return err
	}
	var err error
	if slices.ContainsFunc(options, func(o ReadOption) bool { return !o.atLeast.IsZero() }) {
		err = m.whileServed(ctx, look)
	} else {
		err = look(ctx)
	}
	if err != nil {
		return View[V]{}, err
	}
	if doc.Head == 0 {
		return View[V]{}, join(fmt.Errorf("%w: %s", ErrNotFound, key), behind)
	}
	view, err := d.c.view(doc)
	return view, join(err, view.deleted(key), parked, behind)
}

// look returns a document as it is when all is in it that options ask for; parked is that it
// is parked and lacks some of it, and behind that something on the way is.
func (d *Derived[V]) look(ctx context.Context, key Key, options []ReadOption) (doc store.Document, parked, behind, err error) {
	m := d.c.m
	goals := make([]goal, 0, len(options))
	for _, o := range options {
		if o.atLeast.IsZero() {
			continue
		}
		if err := m.waitUpstream(ctx, o.atLeast, key.Collection); errors.Is(err, ErrParked) {
			behind = err
		} else if err != nil {
			return doc, nil, nil, err
		}
		g, err := m.goal(ctx, o.atLeast, key)
		if err != nil {
			return doc, nil, nil, err
		}
		goals = append(goals, g)
	}
	err = m.await(ctx, key, func() (bool, error) {
		docs, err := m.st.Load(ctx, []store.Key{key}, store.WithViews)
		if err != nil {
			return false, err
		}
		doc = docs[0]
		for _, g := range goals {
			if enough, err := m.enough(ctx, doc, g, &parked); !enough || err != nil {
				return enough, err
			}
		}
		return true, nil
	})
	return doc, parked, behind, err
}

// GetMany returns the views of several documents, as [Collection.GetMany] does.
func (d *Derived[V]) GetMany(ctx context.Context, ids ...string) ([]View[V], error) {
	return d.c.GetMany(ctx, ids...)
}

// All returns the views of all documents but the deleted ones, as [Collection.All] does.
func (d *Derived[V]) All(ctx context.Context) iter.Seq2[View[V], error] { return d.c.All(ctx) }

// Changes returns the documents whose views changed, as [Collection.Changes] does. A view
// that was made again and is the same has not changed.
func (d *Derived[V]) Changes(ctx context.Context, from Cursor) iter.Seq2[Changed[V], error] {
	return d.c.Changes(ctx, from)
}

// ChangesSoFar is [Derived.Changes] without waiting; see [Collection.ChangesSoFar].
func (d *Derived[V]) ChangesSoFar(ctx context.Context, from Cursor) iter.Seq2[Changed[V], error] {
	return d.c.ChangesSoFar(ctx, from)
}

// Wait waits until what the token covers of the sources, and of their sources, is in the
// views of the named documents, or in those of the whole collection if none is named.
// While the collection is filled, it waits for that. Errors as for [Materializer.Wait], and
// so are parked documents on the way.
func (d *Derived[V]) Wait(ctx context.Context, token Token, ids ...string) error {
	m, name := d.c.m, d.c.spec.Name
	if len(ids) == 0 {
		return m.wait(ctx, token, []string{name})
	}
	return m.whileServed(ctx, func(ctx context.Context) error {
		err := m.waitUpstream(ctx, token, name)
		if err != nil && !errors.Is(err, ErrParked) {
			return err
		}
		return join(err, d.c.waitForEach(ctx, token, ids))
	})
}

// Drain is [Derived.Wait] for [Materializer.End].
func (d *Derived[V]) Drain(ctx context.Context, ids ...string) error {
	end, err := d.c.m.End(ctx)
	if err != nil {
		return err
	}
	return d.Wait(ctx, end, ids...)
}

// Explain tells why a derived document is as it is.
func (d *Derived[V]) Explain(ctx context.Context, id string) (Explanation, error) {
	return d.c.Explain(ctx, id)
}

// ExplainSource tells how it stands with what a document of a source does to the
// collection; source is the name of its collection.
func (d *Derived[V]) ExplainSource(ctx context.Context, source, id string) (Explanation, error) {
	return d.c.m.Explain(ctx, Key{Collection: d.mapping(source), ID: id})
}

// mapping returns the name of the mapping from a source.
func (d *Derived[V]) mapping(source string) string {
	return store.CollectionName{Name: d.c.spec.Name, Source: source}.String()
}

// Pause holds back the collection, and what is told to it by its sources, but not these;
// see [Materializer.Pause].
func (d *Derived[V]) Pause(ctx context.Context) error { return d.c.Pause(ctx) }

// Unpause lets it go on.
func (d *Derived[V]) Unpause(ctx context.Context) error { return d.c.Unpause(ctx) }
