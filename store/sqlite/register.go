package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// Register implements [store.Registrar]. It is as durable as an append.
func (s *Store) Register(ctx context.Context, name string, version int) error {
	if err := store.CheckCollection(name); err != nil {
		return err
	}
	if err := store.CheckVersion(version); err != nil {
		return err
	}
	return s.submit(ctx, newRequest(&registerWork{name, version}, true, 100))
}

type registerWork struct {
	name    string
	version int
}

func (w *registerWork) do(t *transaction) error {
	in, err := t.collection(w.name)
	if err != nil {
		return err
	}
	if in == nil {
		_, err = t.makeCollection(w.name, int64(w.version))
		return err
	}
	if err := in.notDerived("collection to register"); err != nil {
		return err
	}
	version := int64(w.version)
	if in.version == 0 {
		in.version = version
		if err := t.run.exec(setGenerationVersion, in.served.id, version); err != nil {
			return err
		}
		return t.run.exec(setVersion, in.id, version)
	}
	living, err := t.run.one(getState, w.name, version, "")
	if err != nil {
		return err
	}
	if living != nil {
		t.touch = true // it may be visible and not synced
		return nil
	}
	if err := t.makeRoom(in, version); err != nil {
		return err
	}
	return t.start(in, version)
}

// makeRoom retires the generation that is being built for one of a version that does not
// live, which must be higher than all that do.
func (t *transaction) makeRoom(in *collection, version int64) error {
	stored := in.version
	if in.building != 0 {
		row, err := t.run.one(getKept, in.building)
		if err != nil {
			return err
		}
		if row != nil {
			stored = max(stored, integer(row[1]))
		}
	}
	if version < stored {
		return &store.VersionError{Collection: in.name, Stored: int(stored), Registered: int(version)}
	}
	if in.building != 0 {
		return t.retire(in, in.building)
	}
	return nil
}

// Collections implements [store.Registrar].
func (s *Store) Collections(ctx context.Context) ([]store.Collection, error) {
	var all []store.Collection
	var inputs []int64 // of the sources of the last one
	err := s.read(ctx, func(c *conn) error {
		return c.each(allCollections, func(row []driver.Value) bool {
			name := text(row[0])
			if len(all) == 0 || all[len(all)-1].Name != name {
				inputs = nil
				all = append(all, store.Collection{
					Name: name, Version: int(integer(row[1])), Paused: truth(row[2]), Derived: truth(row[3]), Held: heldFor(integer(row[4]), time.Now()),
				})
			}
			if row[6] != nil {
				c, input := &all[len(all)-1], integer(row[5])
				at, _ := slices.BinarySearch(inputs, input)
				inputs = slices.Insert(inputs, at, input)
				c.Sources = slices.Insert(c.Sources, at, text(row[6]))
			}
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
