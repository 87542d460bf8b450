package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"

	"github.com/refold-go/refold/store"
)

// edge is a source document that a derived one has read.
type edge struct {
	collection int64
	name       string
}

// edges are what is to be changed of what is recorded of a derived document.
type edges struct {
	put  []edge
	at   []int64 // the versions of put
	drop []edge
}

// inputs returns the sources of a generation of a derived collection; others have none.
func (t *transaction) inputs(g *generation) (map[int64]bool, error) {
	if g.inputs != nil || !g.derived() {
		return g.inputs, nil
	}
	inputs := make(map[int64]bool)
	err := t.run.each(inputsOf, func(row []driver.Value) bool {
		inputs[integer(row[0])] = true
		return true
	}, g.id)
	if err == nil {
		g.inputs = inputs
	}
	return inputs, err
}

// checkReads returns an error if the document cannot have read what the commit says.
func (g *guarded) checkReads(t *transaction, c *store.Commit) error {
	if len(c.Reads) == 0 {
		return nil
	}
	inputs, err := t.inputs(g.in)
	if err != nil {
		return err
	}
	for i := range c.Reads {
		name := c.Reads[i].Key.Collection
		in, err := t.collection(name)
		if err != nil {
			return err
		}
		if in == nil || !inputs[in.id] {
			return &store.InvalidError{
				Field: "commit of " + c.Key.String(), Got: "a read of " + name, Want: "only of the sources of a derived collection",
			}
		}
	}
	return nil
}

// settle reads the head of a derived document again, which an earlier commit of the same
// call may have moved, looks whether the deltas are history, and compares what the document
// has read with what is recorded. If something has changed since it was read that was not
// recorded before, or is again as it was recorded, so that the document was passed over, it gets
// another delta.
func (g *guarded) settle(t *transaction, c *store.Commit) (*edges, error) {
	row, err := t.document(g.in, c.Key.ID)
	if err != nil || row == nil {
		return nil, err
	}
	if g.head = row.head; c.Applied == c.Loaded {
		return nil, nil
	}
	if !g.history {
		news, err := t.run.one(anyNews, g.document, c.Loaded, c.Applied)
		if err != nil {
			return nil, err
		}
		g.history = news == nil
	}
	if c.Effects != nil {
		return nil, nil
	}
	recorded := make(map[edge]int64)
	err = t.run.each(edgesOf, func(row []driver.Value) bool {
		recorded[edge{integer(row[0]), text(row[1])}] = integer(row[2])
		return true
	}, g.document)
	if err != nil {
		return nil, err
	}
	e := new(edges)
	for i := range c.Reads {
		r := &c.Reads[i]
		in, err := t.collection(r.Key.Collection)
		if err != nil {
			return nil, err
		}
		read := edge{in.id, r.Key.ID}
		was, known := recorded[read]
		delete(recorded, read)
		if known && was == r.Version {
			continue
		}
		version, there, err := t.changed(in, r.Key.ID)
		if err != nil {
			return nil, err
		}
		if version != r.Version && (!known || version == was) {
			g.another = 1
		}
		if !known && !there {
			if gone, err := t.forgotten(r.Key); err != nil {
				return nil, err
			} else if gone {
				continue // it will not change any more, and its id is not kept
			}
		}
		e.put, e.at = append(e.put, read), append(e.at, r.Version)
	}
	for old := range recorded {
		e.drop = append(e.drop, old)
	}
	return e, nil
}

// changed returns the number of the last change of a document that is served; 0 if there was
// none.
func (t *transaction) changed(in *collection, id string) (number int64, there bool, err error) {
	row, err := t.run.one(getChanged, in.served.id, in.served.space, id)
	if err != nil || row == nil {
		return 0, false, err
	}
	return integer(row[0]), true, nil
}

// source finds out how the source is that a document of a mapping is of.
func (g *guarded) source(t *transaction, c *store.Commit, s *slice) error {
	n, err := store.ParseCollection(c.Key.Collection)
	if err != nil {
		return err
	}
	in, err := t.collection(n.Source)
	if err != nil || in == nil {
		return err
	}
	s.of = &edge{in.id, c.Key.ID}
	s.version, _, err = t.changed(in, c.Key.ID)
	return err
}

// hasRead reports whether the view of a document was made of the source as it is now.
func (s *slice) hasRead(t *transaction, document int64) (bool, error) {
	if s.of == nil {
		return false, nil
	}
	row, err := t.run.one(getEdge, document, s.of.collection, s.of.name)
	return row != nil && integer(row[0]) == s.version, err
}

// settled writes what a commit leaves of a derived document: the deltas that are not
// applied, another one with the since that it had, and what it has read.
func (g *guarded) settled(t *transaction, c *store.Commit, e *edges, since sinceAt) error {
	if err := t.run.exec(dropDeltas, g.document, c.Applied); err != nil {
		return err
	}
	if g.another > 0 {
		itself, _, err := t.receivers(g.in.id, g.in.of)
		if err != nil {
			return err
		}
		if err := t.put(itself != nil && !itself.deltas, g.document, g.head, &delta{since: since}); err != nil {
			return err
		}
	}
	if e == nil {
		return nil
	}
	for _, old := range e.drop {
		if err := t.run.exec(dropEdge, g.document, old.collection, old.name); err != nil {
			return err
		}
	}
	for i, read := range e.put {
		if err := t.run.exec(putEdge, g.document, read.collection, read.name, e.at[i], g.in.id); err != nil {
			return err
		}
	}
	return nil
}

// Reads implements [store.Deriver].
func (s *Store) Reads(ctx context.Context, key store.Key) ([]store.Read, error) {
	var all []store.Read
	err := s.read(ctx, func(c *conn) error {
		in, err := find(c, key.Collection)
		if err != nil || in.space >= 0 {
			return err
		}
		return c.each(readsOf, func(row []driver.Value) bool {
			all = append(all, store.Read{Key: store.Key{Collection: text(row[0]), ID: text(row[1])}, Version: integer(row[2])})
			return true
		}, in.space, key.ID)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b store.Read) int {
		return cmp.Or(cmp.Compare(a.Key.Collection, b.Key.Collection), cmp.Compare(a.Key.ID, b.Key.ID))
	})
	return all, nil
}
