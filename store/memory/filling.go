package memory

import (
	"time"

	"github.com/refold-go/refold/store"
)

// endLocked is the place of what comes in now, that has no operation of its own.
func (s *Store) endLocked() store.Since {
	return store.Since{Position: s.end, Time: time.Now().UTC().Round(0)}
}

// fillDerivedLocked gives the documents of the mappings of a generation a delta for some more
// documents of the sources, and reports whether there are more.
func (s *Store) fillDerivedLocked(g *generation) (more bool) {
	room := pageSize
	var told []store.Key // filling announces nothing
	for _, m := range g.derived.mappings {
		for ; m.filled < m.toFill; m.filled++ {
			if room--; room < 0 {
				return true
			}
			if one := s.toFillLocked(m); one != nil {
				s.tellLocked(m.generation, one.key.ID, m.mark, false, nil, &told)
				m.made++
			}
		}
	}
	return false
}

// toFillLocked returns the next document that a mapping is filled with, nil if it is
// not there any more: those of the source, and then those which the mapping has and the
// source has not.
func (s *Store) toFillLocked(m *mapping) *content {
	source := s.collections[m.source]
	i := m.filled - (m.toFill - m.before)
	if i < 0 {
		return source.listed()[m.filled]
	}
	one := m.derived.contents[i]
	if source.documents[one.key.ID] != nil {
		return nil
	}
	return one
}

// derivedObstacle returns what is in the way of serving a generation; see [store.Deriver].
func (c *collection) derivedObstacle(g *generation, force bool) store.Obstacle {
	mark := store.Position(0)
	for _, m := range g.derived.mappings {
		if m.filled < m.toFill {
			return store.Obstacle{Why: store.Unfilled}
		}
		mark = max(mark, m.mark.Position)
	}
	if first, since := oldest(g); since > 0 && since <= max(mark, c.generation.derived.reached) {
		return store.Obstacle{Why: store.Behind, Document: first}
	}
	var found store.Obstacle
	for _, part := range g.parts() {
		served := c.generation
		if part.derived.mapping != nil {
			served = served.from(part.derived.mapping.source)
		}
		part.parked.all(func(d *document) {
			behind := d.since().Position <= mark || c.version > 0 && !served.lacksToo(d)
			if !force && found.Why == store.Unhindered && d.dirty() && behind {
				found = store.Obstacle{Why: store.ParkedBehind, Document: store.Key{Collection: part.derived.name, ID: d.key.ID}}
			}
		})
	}
	return found
}

// lacksToo reports whether the generation, which may be nil, has a parked document of the
// same id that lacks what a parked one of another generation lacks.
func (g *generation) lacksToo(d *document) bool {
	if g == nil {
		return false
	}
	old := g.documents[d.key.ID]
	return old != nil && old.parked() && old.dirty() && old.since().Position <= d.since().Position
}

// lacks returns the place of the first operation that views of a generation lack, or end if they
// lack nothing: what is made of what is served next may lack that too.
func (g *generation) lacks(end store.Since) store.Since {
	look := func(d *document) {
		if since := d.since(); d.dirty() && since.Position < end.Position {
			end = since
		}
	}
	for _, part := range g.parts() {
		part.runnable.all(look)
		part.parked.all(look)
		if part.derived == nil || part.derived.mapping == nil {
			continue
		}
		if m := part.derived.mapping; m.filled < m.toFill && m.mark.Position < end.Position {
			end = m.mark
		}
	}
	return end
}

// parts returns a generation of a derived collection, and its mappings.
func (g *generation) parts() []*generation { return append(g.filling(), g) }

// oldest returns the runnable document of a generation and its mappings that lacks
// something for the longest time, and since when; 0 if there is none.
func oldest(g *generation) (first store.Key, since store.Position) {
	for _, part := range g.parts() {
		for _, d := range part.runnable.after(place{}, 1, nil) {
			if at := d.since().Position; since == 0 || at < since {
				first, since = store.Key{Collection: part.derived.name, ID: d.key.ID}, at
			}
		}
	}
	return first, since
}
