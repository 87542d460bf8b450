package sqlite

import (
	"context"
	"database/sql/driver"
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
		return &store.VersionError{Collection: w.name, Stored: int(stored), Registered: w.version}
	}
	if in.building != 0 {
		if err := t.retire(in, in.building); err != nil {
			return err
		}
	}
	return t.start(in, version)
}

// Collections implements [store.Registrar].
func (s *Store) Collections(ctx context.Context) ([]store.Collection, error) {
	var all []store.Collection
	err := s.read(ctx, func(c *conn) error {
		return c.each(allCollections, func(row []driver.Value) bool {
			all = append(all, store.Collection{
				Name: text(row[0]), Version: int(integer(row[1])), Paused: truth(row[2]), Held: heldFor(integer(row[3]), time.Now()),
			})
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
