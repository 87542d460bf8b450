package materializer

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
)

// registry holds the registered collections by their names. It is replaced, never
// changed, so that it is read without a lock.
type registry struct {
	own   map[string]*collection   // by the generation that its fold makes, as notes@2
	named map[string][]*collection // by the name, in order of version
}

// with returns a registry that has one more.
func (r *registry) with(c *collection) *registry {
	next := &registry{own: maps.Clone(r.own), named: maps.Clone(r.named)}
	next.own[c.own] = c
	for _, m := range c.mappings {
		next.own[m.own] = m
	}
	next.named[c.name] = append(slices.Clone(r.named[c.name]), c)
	slices.SortFunc(next.named[c.name], func(a, b *collection) int { return a.version - b.version })
	return next
}

// meant returns the collections whose generations a name means, as the store announces
// it: all of them for a name without a version.
func (r *registry) meant(name string) []*collection {
	if all := r.named[name]; all != nil {
		return all
	}
	if c := r.own[name]; c != nil {
		return []*collection{c}
	}
	return nil
}

// served returns the collection of that name whose generation is served, or the mapping that
// feeds it, as far as is known, or nil if its fold is not registered here.
func (r *registry) served(name string) *collection {
	for _, c := range r.named[store.BareName(name)] {
		if !c.served.Load() {
			continue
		}
		for _, m := range c.mappings {
			if m.name == name {
				return m
			}
		}
		if c.name == name {
			return c
		}
	}
	return nil
}

// sources returns those of a derived collection, in order, and nil of another one.
func (c *collection) sources() (all []string) {
	for _, p := range c.mappings {
		_, source, _ := strings.Cut(p.name, "<")
		all = append(all, source)
	}
	return all
}

// derived reports whether documents of a name have deltas and no operations. Of one that is not
// registered here the store knows.
func (m *Materializer) derived(ctx context.Context, name string) (bool, error) {
	if strings.Contains(name, "<") {
		return true, nil
	}
	name = store.BareName(name)
	if all := m.registry.Load().named[name]; len(all) > 0 {
		return all[0].mappings != nil, nil
	}
	sources, err := m.sources(ctx)
	return sources[name] != nil, err
}

// collection returns the registered collection of a generation, as runs call it; nil if
// there is none.
func (m *Materializer) collection(own string) *collection { return m.registry.Load().own[own] }

// registered reports whether a fold of the collection is registered, of whatever version.
func (m *Materializer) registered(name string) bool { return len(m.registry.Load().named[name]) > 0 }

// names returns the registered collections, in order, as readers call them.
func (m *Materializer) names() []string {
	return slices.Sorted(maps.Keys(m.registry.Load().named))
}

// generations returns the generations whose folds are registered, in order.
func (m *Materializer) generations() []string {
	return slices.Sorted(maps.Keys(m.registry.Load().own))
}

// served returns those of them that are served, and notServed the others, as far as is
// known.
func (m *Materializer) served() []string    { return m.thatAre(true) }
func (m *Materializer) notServed() []string { return m.thatAre(false) }

func (m *Materializer) thatAre(served bool) []string {
	return slices.DeleteFunc(m.generations(), func(own string) bool { return m.collection(own).served.Load() != served })
}

// ownKey returns the document as runs call it, which was loaded by the name of its
// collection, or a mapping; its key as it is if the fold that makes it is not registered here.
func (m *Materializer) ownKey(doc *store.Document) Key {
	for _, c := range m.registry.Load().named[store.BareName(doc.Key.Collection)] {
		if c.version != doc.Version {
			continue
		}
		own := c.own
		if _, source, mapping := strings.Cut(doc.Key.Collection, "<"); mapping {
			own += "<" + source
		}
		return Key{Collection: own, ID: doc.Key.ID}
	}
	return doc.Key
}

// bare returns the document as readers call it.
func (m *Materializer) bare(k Key) Key {
	if c := m.collection(k.Collection); c != nil {
		k.Collection = c.name
	}
	return k
}

// shown returns the document as people are told of it: with the version if that is not
// what is served.
func (m *Materializer) shown(k Key) Key {
	if c := m.collection(k.Collection); c != nil && c.served.Load() {
		k.Collection = c.name
	}
	return k
}

// announce puts documents on the bus that the store says to be dirty, by the names of
// their generations here. What is appended is news for all of them; those that are not
// served are read from the store.
func (m *Materializer) announce(keys []Key) {
	var few [8]Key
	m.appended.Publish(m.own(few[:0], keys)...)
}

// own appends documents as the store announces them to those of the generations that are
// made here and served.
func (m *Materializer) own(to, keys []Key) []Key {
	r, aside := m.registry.Load(), false
	for _, k := range keys {
		for _, c := range r.meant(k.Collection) {
			if c.served.Load() {
				to = append(to, Key{Collection: c.own, ID: k.ID})
			} else {
				aside = true
			}
		}
	}
	if aside {
		m.lookAside()
	}
	return to
}
