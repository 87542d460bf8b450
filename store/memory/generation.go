package memory

import (
	"time"

	"github.com/refold-go/refold/store"
)

func newGeneration(version int, state store.GenerationState, epoch int64) *generation {
	return &generation{version: version, state: state, epoch: epoch, documents: make(map[string]*document)}
}

// generationsMost is how many generations of a collection live at the most.
const generationsMost = 3

// generations returns those that live, that which is served first, and nil for one that
// there is none of. An append asks for them, which makes no slice for that.
func (c *collection) generations() [generationsMost]*generation {
	return [generationsMost]*generation{c.generation, c.building, c.kept}
}

// living returns all generations, that which is served first.
func (c *collection) living() []*generation {
	var all []*generation
	for _, g := range c.generations() {
		if g != nil {
			all = append(all, g)
		}
	}
	return all
}

// ofVersion returns the generation of a version, nil if there is none.
func (c *collection) ofVersion(version int) *generation {
	for _, g := range c.generations() {
		if g != nil && g.version == version && version != 0 {
			return g
		}
	}
	return nil
}

// heldBackLocked reports whether no document of a generation is to be run.
func (c *collection) heldBackLocked(g *generation, now time.Time) bool {
	served := g == c.generation || g.derived != nil && g.derived.mapping != nil && g.derived.mapping.feeds == c.generation
	return c.paused || served && c.held(now) > 0
}

// held returns for how long what is served is held yet.
func (c *collection) held(now time.Time) time.Duration {
	if left := c.heldUntil.Sub(now); left > 0 && left <= store.MaxHold {
		return left
	}
	return 0
}

// generationLocked returns the generation that a name means and where it is, nil if
// there is none.
func (s *Store) generationLocked(name string) (*collection, *generation) {
	if c := s.collections[name]; c != nil {
		return c, c.generation
	}
	n, err := store.ParseCollection(name)
	if err != nil || s.collections[n.Name] == nil {
		return nil, nil
	}
	c := s.collections[n.Name]
	g := c.generation
	if n.Version > 0 {
		g = c.ofVersion(n.Version)
	}
	if n.Source != "" {
		g = g.from(n.Source)
	}
	return c, g
}

// documentOf returns a document, nil if it is not there or there is no generation.
func (g *generation) documentOf(id string) *document {
	if g == nil {
		return nil
	}
	return g.documents[id]
}

// finder finds one document after the other. The generation of those that follow each
// other in one is found once.
type finder struct {
	s    *Store
	name string
	of   *collection
	in   *generation // nil if there is none
}

// findLocked is namedLocked.
func (f *finder) findLocked(k store.Key) (*generation, *document) {
	if f.of == nil || f.name != k.Collection {
		f.name = k.Collection
		f.of, f.in = f.s.generationLocked(k.Collection)
	}
	return f.in, f.in.documentOf(k.ID)
}

// namedLocked returns a document and where it is, or nil. The collection of the key may
// be the name of a generation.
func (s *Store) namedLocked(k store.Key) (*generation, *document) {
	_, g := s.generationLocked(k.Collection)
	return g, g.documentOf(k.ID)
}

// announced returns the key under which a document of the generation is announced.
func (g *generation) announced(k store.Key) store.Key {
	if g.derived != nil {
		return g.keyOf(k.ID)
	}
	if g.state == store.Serving {
		k.Collection = store.BareName(k.Collection)
	}
	return k
}

// add makes a document of the generation, whose view lacks everything.
func (g *generation) add(c *content) *document {
	d := &document{content: c, epoch: g.epoch}
	if g.derived != nil {
		d.made = new(made)
	}
	g.documents[c.key.ID] = d
	g.ids.insert(text(c.key.ID), d)
	return d
}

// removeLocked takes a document out, if it is in.
func (g *generation) removeLocked(id string) {
	d := g.documents[id]
	if d == nil {
		return
	}
	g.leaveLocked(d)
	g.ids.remove(text(id))
	g.changed.remove(number(d.changed))
	delete(g.documents, id)
}

// place is where a document is among the runnable ones: documents may share a
// position.
type place struct {
	position store.Position
	id       string
}

// place returns where a document that is dirty belongs.
func (d *document) place() place {
	if d.made != nil {
		return place{d.made.lowest.Position, d.key.ID}
	}
	return place{d.operations[d.applied].Position, d.key.ID}
}
