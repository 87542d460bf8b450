package sqlite

import (
	"database/sql/driver"
	"time"

	"github.com/refold-go/refold/store"
)

// generation is a row of refold_generations.
type generation struct {
	id, space int64
	served    bool // whether its collection shows it
	paused    bool // whether its collection is
	// closing is until when it is held, if it is served.
	closing int64
}

// heldBack reports whether none of its documents is to be run.
func (g *generation) heldBack(now time.Time) bool {
	return g.paused || g.served && held(g.closing, now)
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
// that is served is known with its collection, which runs call by its version.
func (t *transaction) generation(name string) (*generation, error) {
	if store.CheckBare(name) == nil {
		in, err := t.collection(name)
		if in == nil {
			return nil, err
		}
		return &in.served, nil
	}
	collection, version, source := named(name)
	if source == "" && collection != "" {
		if in, err := t.collection(collection); in == nil || in.version == version {
			if in == nil {
				return nil, err
			}
			return &in.served, nil
		}
	}
	row, err := t.run.one(getGeneration, collection, version, source)
	if row == nil {
		return nil, err
	}
	return &generation{id: integer(row[0]), space: integer(row[1]), served: truth(row[3]), paused: truth(row[4]), closing: integer(row[6])}, nil
}

// announced is the key by which a document is announced, of a generation that is served
// or not.
func announced(k store.Key, served bool) store.Key {
	if served {
		k.Collection = store.BareName(k.Collection)
	}
	return k
}

// found is a generation as a reader finds it.
type found struct {
	id     int64
	paused bool // whether none of its documents is to be run
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
	f := found{id: integer(row[0]), paused: truth(row[4])}
	if until := integer(row[6]); until != 0 && truth(row[3]) {
		f.paused = f.paused || held(until, time.Now())
	}
	if version == 0 {
		f.switched = integer(row[5])
	}
	return f, nil
}

// document returns the row of getDocument, nil if there is none.
func (t *transaction) document(g *generation, name string) ([]driver.Value, error) {
	return t.run.one(getDocument, g.id, g.space, name)
}
