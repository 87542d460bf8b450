package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// modelCollection is a collection of the model; generations beside the one that is
// served are nil if there is none.
type modelCollection struct {
	paused                 bool
	served, building, kept *modelGeneration
	switched               int // which change the last switch was
}

type modelGeneration struct {
	number, version int // no two have the same number
	aside           bool
}

func (c *modelCollection) living() []*modelGeneration {
	return slices.DeleteFunc([]*modelGeneration{c.served, c.building, c.kept}, func(g *modelGeneration) bool { return g == nil })
}

func (c *modelCollection) ofVersion(version int) *modelGeneration {
	for _, g := range c.living() {
		if g.version == version && version > 0 {
			return g
		}
	}
	return nil
}

// bare is the key without a version.
func bare(k store.Key) store.Key {
	k.Collection, _, _ = strings.Cut(k.Collection, "@")
	return k
}

// generation returns what a name means, nil if nothing.
func (m *model) generation(name string) *modelGeneration {
	n, err := store.ParseCollection(name)
	if err != nil || m.collections[n.Name] == nil {
		return nil
	}
	if c := m.collections[n.Name]; n.Version > 0 {
		return c.ofVersion(n.Version)
	}
	return m.collections[n.Name].served
}

// in returns the key of a document among those that were committed.
func (m *model) in(k store.Key) store.Key {
	g := m.generation(k.Collection)
	if g == nil {
		return store.Key{}
	}
	return g.key(k.ID)
}

func (g *modelGeneration) key(id string) store.Key {
	return store.Key{Collection: fmt.Sprint(g.number), ID: id}
}

// row returns a document in a generation, by any name.
func (m *model) row(k store.Key) committed { return m.committed[m.in(k)] }

// collection returns a collection, and makes it if need be.
func (m *model) collection(name string) *modelCollection {
	c := m.collections[name]
	if c == nil {
		c = &modelCollection{served: m.newGeneration(0)}
		m.collections[name] = c
	}
	return c
}

func (m *model) newGeneration(version int) *modelGeneration {
	m.generations++
	return &modelGeneration{number: m.generations, version: version}
}

// make gives a document a row in a generation.
func (m *model) make(g *modelGeneration, id string) {
	d := m.committed[g.key(id)]
	d.there = true
	m.committed[g.key(id)] = d
}

// names returns all names of a collection that mean something, the bare one first.
func (m *model) names(collection string) []string {
	names := []string{collection}
	if c := m.collections[collection]; c != nil {
		for _, g := range c.living() {
			if g.version > 0 {
				names = append(names, store.CollectionName{Name: collection, Version: g.version}.String())
			}
		}
	}
	return names
}

// called gives each key one of the names of its collection, the same to all of one.
func (m *model) called(r *rapid.T, keys []store.Key) []store.Key {
	chosen := make(map[string]string)
	keys = slices.Clone(keys)
	for i, k := range keys {
		if chosen[k.Collection] == "" {
			chosen[k.Collection] = rapid.SampledFrom(m.names(k.Collection)).Draw(r, "name")
		}
		keys[i].Collection = chosen[k.Collection]
	}
	return keys
}

// register returns the error that a registration must have, if any.
func (m *model) register(name string, version int) error {
	c := m.collection(name)
	if c.served.version == 0 {
		c.served.version = version
		return nil
	}
	if c.ofVersion(version) != nil {
		return nil
	}
	if version < c.served.version || c.building != nil && version < c.building.version {
		return store.ErrVersion
	}
	c.building = m.newGeneration(version)
	return nil
}

// serve makes a generation the one that is served.
func (m *model) serve(c *modelCollection, g *modelGeneration, aside bool) {
	m.changes++
	if c.building == g {
		c.building = nil
	}
	c.kept, c.served, c.switched = c.served, g, m.changes
	c.kept.aside, g.aside = aside, false
}

// obstacle returns what is in the way of serving a generation.
func (m *model) obstacle(c *modelCollection, g *modelGeneration, force bool) store.Hindrance {
	why := store.Unhindered
	for _, k := range modelKeys {
		d := m.committed[g.key(k.ID)]
		if !d.there || d.applied >= m.committed[c.served.key(k.ID)].applied {
			continue
		}
		if !d.failure.Park {
			return store.Behind
		}
		if !force {
			why = store.ParkedBehind
		}
	}
	return why
}

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
