package storetest

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

func (m *modelRun) register(r *rapid.T) {
	name := rapid.SampledFrom([]string{"notes", "tasks"}).Draw(r, "collection")
	m.registerAt(r, name, rapid.IntRange(1, 5).Draw(r, "version"))
}

func (m *modelRun) registerAt(r *rapid.T, name string, version int) {
	want := m.model.register(name, version)
	if err := m.b.Register(background, name, version); !errors.Is(err, want) {
		r.Fatalf("Register %s at version %d: %v, want %v", name, version, err, want)
	}
}

// generate fills a generation, switches to it, goes back or drops one.
func (m *modelRun) generate(r *rapid.T) {
	collection := rapid.SampledFrom([]string{"notes", "tasks"}).Draw(r, "collection")
	c := m.collections[collection]
	if c == nil {
		return
	}
	if c.building == nil && rapid.Bool().Draw(r, "a new one") {
		m.registerAt(r, collection, c.served.version+1)
	}
	g := rapid.SampledFrom(c.living()).Draw(r, "generation")
	name := store.CollectionName{Name: collection, Version: g.version}.String()
	switch what := rapid.IntRange(0, 9).Draw(r, "what"); {
	case what == 0:
		want := error(store.ErrNotFound)
		if c.kept != nil && !c.kept.aside {
			want = nil
			m.serve(c, c.kept, true)
		}
		if err := m.b.Rollback(background, collection); !errors.Is(err, want) {
			r.Fatalf("Rollback of %s: %v, want %v", collection, err, want)
		}
	case g.version == 0:
	case what == 1:
		var want error
		switch g {
		case c.served:
			want = store.ErrInvalid
		case c.building:
			c.building = nil
		default:
			c.kept = nil
		}
		if err := m.b.Retire(background, name); !errors.Is(err, want) {
			r.Fatalf("Retire %s: %v, want %v", name, err, want)
		}
		if _, err := m.b.Sweep(background); err != nil {
			r.Fatalf("Sweep: %v", err)
		}
	case what == 2:
		m.fill(r, g, name)
	case what == 3:
		m.switchTo(r, c, g, name)
	default: // what leads to a switch most often
		m.fill(r, g, name)
		if rapid.Bool().Draw(r, "the old one too") {
			m.foldAll(r, collection)
		}
		m.foldAll(r, name)
		m.switchTo(r, c, g, name)
	}
}

func (m *modelRun) fill(r *rapid.T, g *modelGeneration, name string) {
	for more := true; more; {
		var err error
		if more, err = m.b.Fill(background, name); err != nil {
			r.Fatalf("Fill %s: %v", name, err)
		}
	}
	for _, k := range m.keys() {
		if k.Collection == bare(store.Key{Collection: name}).Collection {
			m.make(g, k.ID)
		}
	}
}

// foldAll commits the last view of each document of a generation that is not parked,
// or parks it.
func (m *modelRun) foldAll(r *rapid.T, name string) {
	var keys []store.Key
	for _, k := range m.keys() {
		if k.Collection == bare(store.Key{Collection: name}).Collection {
			keys = append(keys, store.Key{Collection: name, ID: k.ID})
		}
	}
	m.learnEpochs(r, keys)
	for _, k := range keys {
		d, head := m.row(k), m.head(k)
		c := store.Commit{
			Key: k, Loaded: d.applied, Epoch: d.epochs[len(d.epochs)-1], Applied: head, View: fmt.Appendf(nil, "all of %s", k),
			History: m.isHistory(k, d.applied, head),
		}
		if d.applied < head && rapid.IntRange(0, 4).Draw(r, "parks") == 0 {
			c.Applied, c.Failure = d.applied, &store.Failure{Seq: d.applied + 1, Attempts: 1, Error: "e", Park: true}
		}
		want, _ := m.model.commit([]store.Commit{c})
		if got, err := m.b.Commit(background, []store.Commit{c}); err != nil || !slices.Equal(got, want) {
			r.Fatalf("Commit of %+v returned %v, %v, want %v", c, got, err, want)
		}
	}
}

func (m *modelRun) switchTo(r *rapid.T, c *modelCollection, g *modelGeneration, name string) {
	force := rapid.Bool().Draw(r, "force")
	got, err := m.b.Switch(background, name, store.SwitchTerms{Force: force})
	if err != nil {
		r.Fatalf("Switch to %s: %v", name, err)
	}
	if got.Why == store.Unfilled && g == c.building {
		return // also if there is nothing more to make
	}
	want := m.obstacle(c, g, force)
	if got.Why != want {
		r.Fatalf("in the way of %s is %s, want %s", name, got.Why, want)
	}
	if k := got.Document; want != store.Unhindered && (k.Collection != name || m.row(k).applied >= m.committed[c.served.key(k.ID)].applied) {
		r.Fatalf("in the way of %s is %s", name, k)
	}
	if want != store.Unhindered || g == c.served {
		return
	}
	for _, k := range m.keys() {
		if bare(store.Key{Collection: name}).Collection == k.Collection && !m.committed[g.key(k.ID)].there {
			r.Fatalf("%s is served without %s", name, k)
		}
	}
	m.serve(c, g, false)
}

// describeGenerations returns a line for each generation that lives.
func (m *modelRun) describeGenerations(r *rapid.T, collection string) (got, want []string) {
	all, err := m.b.Generations(background, collection)
	if err != nil {
		r.Fatalf("Generations: %v", err)
	}
	for _, g := range all {
		if g.State != store.Dropping {
			got = append(got, fmt.Sprint(collection, g.Version, g.State))
		}
	}
	c := m.collections[collection]
	if c == nil {
		return got, nil
	}
	for _, g := range c.living() {
		state := store.Building
		switch {
		case g == c.served:
			state = store.Serving
		case g == c.kept && g.aside:
			state = store.SetAside
		case g == c.kept:
			state = store.Kept
		}
		want = append(want, fmt.Sprint(collection, g.version, state))
	}
	return got, want
}
