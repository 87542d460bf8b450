package memory

import (
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// derivation is what a generation has besides whose documents are made from others.
type derivation struct {
	// name is that of the generation, with its version; of the empty one of version 0 it
	// is the collection's.
	name string
	// contents are its documents in the order in which they were made.
	contents []*content
	// mapping is that which the generation is, nil for one of a derived collection.
	mapping *mapping

	// deltas, mappings, reached and readers are those of a generation of a derived collection.
	// readers are by what they read, and then by id.
	deltas   bool
	mappings []*mapping // by input
	// reached is the end of the log when it began to be served, or a view was last made:
	// no view has anything beyond it.
	reached store.Position
	readers map[store.Key]*ordered[text, *document]
}

// mapping is a generation between a source and a generation of a derived collection.
type mapping struct {
	*generation
	feeds  *generation
	source string
	input  int
	// mark is the end of the log when the filling began.
	mark store.Since
	// before is how many documents the mapping had then that are looked at too, the last
	// of those to be filled.
	before int
}

// made is what a document has besides that is made from others, or of a mapping.
type made struct {
	head   int64          // counts the deltas that it got
	last   store.Position // of the last one
	lowest store.Since    // of the deltas that are there

	// contributions, of which there are count, and reads, by collection and id, are those
	// of a derived document.
	contributions ordered[contributor, *store.Contribution]
	count         int64
	reads         []store.Read

	// keys are the derived documents to which a document of a mapping contributes, and
	// round is that which it is in.
	keys  ordered[text, *document]
	round store.Round
}

// of returns the name of the derived collection.
func (m *mapping) of() string {
	name, _, _ := strings.Cut(m.derived.name, "@")
	return name
}

// from returns the mapping of a source, nil if there is none. The generation may be nil.
func (g *generation) from(source string) *generation {
	if g == nil || g.derived == nil {
		return nil
	}
	for _, m := range g.derived.mappings {
		if m.source == source {
			return m.generation
		}
	}
	return nil
}

// keyOf returns the key under which a document is announced.
func (g *generation) keyOf(id string) store.Key {
	name := g.derived.name
	if g.derived.mapping == nil && g.state == store.Serving {
		name, _, _ = strings.Cut(name, "@")
	}
	return store.Key{Collection: name, ID: id}
}

// filling returns what has documents to be made by Fill.
func (g *generation) filling() []*generation {
	if g.derived == nil {
		return []*generation{g}
	}
	var all []*generation
	for _, m := range g.derived.mappings {
		all = append(all, m.generation)
	}
	return all
}

// sources returns those of a generation of a derived collection, and nil of another one.
func (g *generation) sources() (all []string) {
	if g.derived == nil {
		return nil
	}
	for _, m := range g.derived.mappings {
		all = append(all, m.source)
	}
	return all
}

// newDerivedLocked returns a generation of a derived collection, with its mappings.
func (s *Store) newDerivedLocked(d store.Derivation, state store.GenerationState) *generation {
	s.changes++
	g := newGeneration(d.Version, state, s.changes)
	name := store.CollectionName{Name: d.Name, Version: d.Version}
	g.derived = &derivation{name: name.String(), deltas: d.Deltas, readers: make(map[store.Key]*ordered[text, *document])}
	for input, source := range d.Sources {
		s.changes++
		m := &mapping{generation: newGeneration(d.Version, state, s.changes), feeds: g, source: source, input: input}
		name.Source = source
		m.derived = &derivation{name: name.String(), mapping: m}
		s.refillLocked(m)
		g.derived.mappings = append(g.derived.mappings, m)
	}
	return g
}

// refillLocked begins the filling of a mapping.
func (s *Store) refillLocked(m *mapping) {
	source := s.collections[m.source]
	m.filled, m.made, m.toFill = 0, 0, len(source.listed())
	if m.before = 0; source.derived { // another generation may have had others
		m.before = len(m.derived.contents)
	}
	m.toFill += m.before
	m.mark = store.Since{Position: s.end, Time: time.Now().UTC().Round(0)}
}

// listed returns the documents of what is served in the order in which they were made.
func (c *collection) listed() []*content {
	if c.derived {
		return c.generation.derived.contents
	}
	return c.contents
}

// relinkLocked finds the dependents of all collections, after generations began or ended.
func (s *Store) relinkLocked() {
	for _, c := range s.collections {
		c.dependents = nil
	}
	for _, c := range s.collections {
		for _, g := range c.living() {
			if g.derived == nil {
				continue
			}
			for _, m := range g.derived.mappings {
				source := s.collections[m.source]
				source.dependents = append(source.dependents, m)
			}
		}
	}
	for _, c := range s.collections {
		slices.SortFunc(c.dependents, func(a, b *mapping) int { return strings.Compare(a.derived.name, b.derived.name) })
	}
}

// notDerivedLocked returns an error if a collection is a derived one.
func (s *Store) notDerivedLocked(field string, k store.Key) error {
	if c := s.collections[k.Collection]; c != nil && c.derived {
		return &store.InvalidError{Field: field, Got: k.Collection + ", a derived collection", Want: "one that is not made from others"}
	}
	return nil
}
