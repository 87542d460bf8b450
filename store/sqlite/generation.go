package sqlite

import (
	"time"

	"github.com/refold-go/refold/store"
)

// generation is a row of refold_generations.
type generation struct {
	of        *collection
	id, space int64
	version   int64
	epoch     int64 // of new documents
	served    bool  // whether its collection shows it
	paused    bool  // whether its collection is
	// closing is until when it is held, if it is served.
	closing int64
	// source, feeds and input are those of a mapping; source is 0 if it is none.
	source, feeds, input int64

	// inputs are the sources of a generation of a derived collection, and target is
	// what a mapping feeds; nil if not read yet.
	inputs map[int64]bool
	target *receivers
}

// derived reports whether its documents are made from others, or of a mapping.
func (g *generation) derived() bool { return g.space < 0 }

// tells reports whether changes of its views are told to mappings.
func (g *generation) tells() bool { return g.served && g.of.dependents > 0 }

// heldBack reports whether none of its documents is to be run.
func (g *generation) heldBack(now time.Time) bool {
	return g.paused || (g.served || g.feeds != 0 && g.feeds == g.of.served.id) && held(g.of.served.closing, now)
}

// named returns what the statements with fromCollection look for: the collection, 0
// for the version that is served, and the source of a mapping. A text that is no
// name gives one that nothing has.
func named(collection string) (name string, version int64, source string) {
	n, err := store.ParseCollection(collection)
	if err != nil {
		return "", 0, ""
	}
	return n.Name, int64(n.Version), n.Source
}

// generation returns the generation that a name means, nil if there is none. The one
// that is served is known with its collection, whatever name is given.
func (t *transaction) generation(name string) (*generation, error) {
	if store.CheckBare(name) == nil {
		in, err := t.collection(name)
		if in == nil {
			return nil, err
		}
		return &in.served, nil
	}
	if g := t.named[name]; g != nil {
		return g, nil
	}
	collection, version, source := named(name)
	in, err := t.collection(collection)
	if in == nil {
		return nil, err
	}
	if source == "" && version == in.version {
		return &in.served, nil
	}
	row, err := t.run.one(getGeneration, collection, version, source)
	if row == nil {
		return nil, err
	}
	g := &generation{
		of: in, id: integer(row[0]), space: integer(row[1]), version: integer(row[2]), paused: truth(row[4]),
		epoch: integer(row[7]), source: integer(row[8]), feeds: integer(row[9]), input: integer(row[10]),
	}
	if t.named == nil {
		t.named = make(map[string]*generation)
	}
	t.named[name] = g
	return g, nil
}

// regenerated is called when generations have another state than the transaction has
// learned.
func (t *transaction) regenerated() { t.collections, t.named = nil, nil }

// announced is the key by which a document of the generation is announced.
func (g *generation) announced(k store.Key) store.Key {
	if !g.served && g.source == 0 {
		return k
	}
	n, err := store.ParseCollection(k.Collection)
	if err != nil {
		return k
	}
	if n.Version = 0; g.source != 0 {
		n.Version = int(g.version)
	}
	k.Collection = n.String()
	return k
}

// feeding returns what a mapping feeds.
func (t *transaction) feeding(g *generation) (*receivers, error) {
	if g.target != nil {
		return g.target, nil
	}
	to, _, err := t.receivers(g.feeds, g.of)
	g.target = to
	return to, err
}

// receivers returns the documents of a generation of a derived collection, and its state.
func (t *transaction) receivers(id int64, in *collection) (to *receivers, state int64, err error) {
	row, err := t.run.one(getKept, id)
	if err != nil || row == nil {
		return nil, 0, err
	}
	n := store.CollectionName{Name: in.name, Version: int(integer(row[1]))}
	if id == in.served.id {
		n.Version = 0
	}
	return &receivers{generation: id, space: integer(row[2]), epoch: integer(row[4]), name: n.String(), deltas: truth(row[5])}, integer(row[3]), nil
}

// found is a generation as a reader finds it.
type found struct {
	id, space int64
	paused    bool // whether none of its documents is to be run
	// switched is the number of the last switch of the collection; 0 for a name with
	// a version, which always means the same generation.
	switched int64
}

// find returns the generation that a name means; id is 0 if there is none.
func find(c *conn, collection string) (found, error) {
	name, version, source := named(collection)
	row, err := c.one(getGeneration, name, version, source)
	if row == nil {
		return found{}, err
	}
	f := found{id: integer(row[0]), space: integer(row[1]), paused: truth(row[4])}
	if until := integer(row[6]); until != 0 && truth(row[3]) {
		f.paused = f.paused || held(until, time.Now())
	}
	if version == 0 {
		f.switched = integer(row[5])
	}
	return f, nil
}
