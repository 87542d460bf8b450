package memory

import "github.com/refold-go/refold/store"

// generationLocked returns the collection whose views a name means, nil if there is
// none: the bare name, or that with the version.
func (s *Store) generationLocked(name string) *collection {
	if c := s.collections[name]; c != nil {
		return c
	}
	n, err := store.ParseCollection(name)
	if err != nil || n.Source != "" || n.Version == 0 {
		return nil
	}
	if c := s.collections[n.Name]; c != nil && c.version == n.Version {
		return c
	}
	return nil
}

// namedLocked returns a document and where it is, or nil. The collection of the key may
// be the name of a generation.
func (s *Store) namedLocked(k store.Key) (*collection, *document) {
	c := s.generationLocked(k.Collection)
	if c == nil {
		return nil, nil
	}
	return c, c.documents[k.ID]
}

// place is where a document is among the runnable ones: documents may share a
// position.
type place struct {
	position store.Position
	id       string
}

// place returns where a document that is dirty belongs.
func (d *document) place() place { return place{d.since().Position, d.key.ID} }
