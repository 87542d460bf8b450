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
	return c.paused || g == c.generation && c.held(now) > 0
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
	if err != nil || n.Source != "" {
		return nil, nil
	}
	if c := s.collections[n.Name]; c != nil {
		return c, c.ofVersion(n.Version)
	}
	return nil, nil
}

// namedLocked returns a document and where it is, or nil. The collection of the key may
// be the name of a generation.
func (s *Store) namedLocked(k store.Key) (*generation, *document) {
	_, g := s.generationLocked(k.Collection)
	if g == nil {
		return nil, nil
	}
	return g, g.documents[k.ID]
}

// announced returns the key under which a document of the generation is announced.
func (g *generation) announced(k store.Key) store.Key {
	if g.state == store.Serving {
		k.Collection = store.BareName(k.Collection)
	}
	return k
}

// add makes a document of the generation, whose view lacks everything.
func (g *generation) add(c *content) *document {
	d := &document{content: c, epoch: g.epoch}
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
func (d *document) place() place { return place{d.since().Position, d.key.ID} }
