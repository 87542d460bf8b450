package storetest

import (
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
