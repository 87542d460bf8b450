package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// resumed makes a document runnable.
func (m *model) resumed(k store.Key) {
	d := m.row(k)
	d.failure, d.failed = store.Failure{}, false
	m.committed[m.in(k)] = d
}

// discard returns the error that a discard must have, if any.
func (m *model) discard(d store.Discard) error {
	positions := m.of(d.Key)
	if d.Seq < 1 || d.Seq > int64(len(positions)) {
		return store.ErrNotFound
	}
	op := &m.log[positions[d.Seq-1]-1]
	switch c := m.row(d.Key); {
	case op.discarded:
		return nil
	case d.Seq <= c.applied:
		return store.ErrInvalid
	}
	for _, name := range m.names(d.Key.Collection) {
		k := store.Key{Collection: name, ID: d.Key.ID}
		c := m.row(k)
		c.lease = leasedTo{}
		m.committed[m.in(k)] = c
		switch {
		case c.applied >= d.Seq:
			m.committed[m.in(k)] = committed{there: true, epochs: c.epochs}
		case c.failure.Park && c.failure.Seq == d.Seq:
			m.resumed(k)
		}
	}
	op.discarded = true
	m.discards = append(m.discards, d)
	slices.SortFunc(m.discards, func(a, b store.Discard) int {
		return cmp.Or(cmp.Compare(a.Key.Collection, b.Key.Collection), cmp.Compare(a.Key.ID, b.Key.ID), cmp.Compare(a.Seq, b.Seq))
	})
	return nil
}

// remove takes a document out; its positions stay taken.
func (m *model) remove(k store.Key) {
	for i := range m.log {
		if m.log[i].key == k {
			m.log[i] = logged{}
		}
	}
	if c := m.collections[k.Collection]; c != nil {
		for _, g := range c.living() {
			m.committed[g.key(k.ID)] = committed{epochs: m.committed[g.key(k.ID)].epochs}
		}
	}
	m.discards = slices.DeleteFunc(m.discards, func(d store.Discard) bool { return d.Key == k })
}

// removed reports whether anything was taken out of the log.
func (m *model) removed() bool {
	return slices.ContainsFunc(m.log, func(l logged) bool { return l.key.ID == "" })
}

func (m *modelRun) discard(r *rapid.T) {
	d := discardOf(rapid.SampledFrom(modelKeys).Draw(r, "key"), rapid.Int64Range(0, 5).Draw(r, "seq"))
	want := m.model.discard(d)
	if err := m.b.Discard(background, d); !errors.Is(err, want) {
		r.Fatalf("Discard of %d of %s: %v, want %v", d.Seq, d.Key, err, want)
	}
}

func (m *modelRun) pause(r *rapid.T) {
	name := rapid.SampledFrom([]string{"notes", "tasks"}).Draw(r, "collection")
	paused := rapid.Bool().Draw(r, "paused")
	var want error
	if c := m.collections[name]; c != nil {
		c.paused = paused
	} else {
		want = store.ErrNotFound
	}
	if err := m.b.Pause(background, name, paused); !errors.Is(err, want) {
		r.Fatalf("Pause %s: %v, want %v", name, err, want)
	}
}

// remove seldom forgets a document, and more seldom drops a collection.
func (m *modelRun) remove(r *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(r, "remove") {
	case 0, 1:
		k := rapid.SampledFrom(modelKeys).Draw(r, "key")
		m.model.remove(k)
		m.forgotten[k] = true
		if err := m.b.Forget(background, k); err != nil {
			r.Fatalf("Forget %s: %v", k, err)
		}
	case 2:
		name := rapid.SampledFrom([]string{"notes", "tasks"}).Draw(r, "collection")
		for _, k := range modelKeys {
			if k.Collection == name {
				m.model.remove(k)
			}
		}
		delete(m.collections, name)
		if err := m.b.Drop(background, name); err != nil {
			r.Fatalf("Drop %s: %v", name, err)
		}
	}
}

// learnEpochs asks the store for the epochs of documents: they mean nothing but
// that another one is another, and that they grow.
func (m *modelRun) learnEpochs(r *rapid.T, keys []store.Key) {
	documents, err := m.b.Load(background, keys, store.WithoutViews)
	if err != nil {
		r.Fatalf("Load: %v", err)
	}
	for _, d := range documents {
		c := m.row(d.Key)
		if len(c.epochs) == 0 || c.epochs[len(c.epochs)-1] != d.Epoch {
			if d.Head > 0 && len(c.epochs) > 0 && d.Epoch < slices.Max(c.epochs) {
				r.Fatalf("%s had the epochs %v and now %d", d.Key, c.epochs, d.Epoch)
			}
			c.epochs = append(c.epochs, d.Epoch)
			m.committed[m.in(d.Key)] = c
		}
	}
}

// compareRemoved compares what the other comparisons do not look at.
func (m *modelRun) compareRemoved(r *rapid.T) {
	var got, want []string
	for _, name := range []string{"notes", "tasks"} {
		for _, d := range collect(r, m.b.Discards(background, name)) {
			got = append(got, fmt.Sprint(d.Key, d.Seq, d.By, d.Why))
		}
		if c := m.collections[name]; c != nil {
			want = append(want, fmt.Sprint(name, c.served.version, c.paused))
		}
		gotGenerations, wantGenerations := m.describeGenerations(r, name)
		got, want = append(got, gotGenerations...), append(want, wantGenerations...)
	}
	for _, d := range m.discards {
		want = append(want, fmt.Sprint(d.Key, d.Seq, d.By, d.Why))
	}
	collections, err := m.b.Collections(background)
	if err != nil {
		r.Fatalf("Collections: %v", err)
	}
	for _, c := range collections {
		got = append(got, fmt.Sprint(c.Name, c.Version, c.Paused))
	}
	for _, k := range modelKeys {
		yes, err := m.b.Forgotten(background, k)
		if err != nil || yes != m.forgotten[k] {
			r.Fatalf("Forgotten %s: %t, %v", k, yes, err)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.Fatalf("collections and discards are\n%q, want\n%q", got, want)
	}
}
