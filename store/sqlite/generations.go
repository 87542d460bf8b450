package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// Generations implements [store.Generator].
func (s *Store) Generations(ctx context.Context, collection string) ([]store.Generation, error) {
	type numbered struct {
		store.Generation
		id int64
	}
	var rows []numbered
	err := s.read(ctx, func(c *conn) error {
		rows = nil
		return c.each(listGenerations, func(row []driver.Value) bool {
			g := numbered{id: integer(row[7])}
			g.Version, g.State = int(integer(row[0])), store.GenerationState(integer(row[1])) // #nosec G115 -- 1 to 5
			g.Scanned, g.ToScan, g.Made = integer(row[2]), integer(row[3]), integer(row[4])
			g.Filled = g.Scanned >= g.ToScan
			if started := integer(row[5]); started != 0 {
				g.Started = moment(started)
			}
			if until := integer(row[6]); until != 0 {
				g.Until = moment(until)
			}
			rows = append(rows, g)
			return true
		}, collection)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b numbered) int { return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.id, b.id)) })
	all := make([]store.Generation, len(rows))
	for i := range rows {
		all[i] = rows[i].Generation
	}
	return all, nil
}

// state is a row of refold_generations, with its collection.
type state struct {
	id, version, space, state, epoch, scanned, until int64
	in                                               *collection
}

// state returns a generation that lives, by its name with the version, or an error
// that says that there is none.
func (t *transaction) state(n store.CollectionName) (*state, error) {
	in, err := t.collection(n.Name)
	if err != nil {
		return nil, err
	}
	var row []driver.Value
	if in != nil {
		if row, err = t.run.one(getState, n.Name, int64(n.Version), n.Source); err != nil {
			return nil, err
		}
	}
	if row == nil {
		return nil, fmt.Errorf("%w: generation %s", store.ErrNotFound, n)
	}
	return &state{
		id: integer(row[0]), version: integer(row[1]), space: integer(row[2]), state: integer(row[3]), epoch: integer(row[4]),
		scanned: integer(row[5]), until: integer(row[6]), in: in,
	}, nil
}

// start makes the rows of a new generation beside the one that is served, without
// those of its documents. What is appended from here on makes its own.
func (t *transaction) start(in *collection, version int64) error {
	row, err := t.run.one(bumpMeta, metaGeneration)
	if err != nil {
		return err
	}
	id := integer(row[0])
	epoch, err := t.change()
	if err != nil {
		return err
	}
	if row, err = t.run.one(lastDocument); err != nil {
		return err
	}
	until := integer(row[0])
	mark, err := t.end()
	if err != nil {
		return err
	}
	if err := t.run.exec(startGeneration, id, in.id, version, in.id, stateBuilding, epoch, until, mark, t.now); err != nil {
		return err
	}
	in.building = id
	return t.run.exec(setBuilding, in.id, id)
}

// Hold implements [store.Generator].
func (s *Store) Hold(ctx context.Context, collection string, d time.Duration) error {
	if err := store.CheckBare(collection); err != nil {
		return err
	}
	return s.submit(ctx, newRequest(&holdWork{collection, min(d, store.MaxHold)}, false, 100))
}

type holdWork struct {
	name string
	d    time.Duration
}

func (w *holdWork) do(t *transaction) error {
	in, err := t.collection(w.name)
	if err != nil {
		return err
	}
	if in == nil {
		return fmt.Errorf("%w: collection %q", store.ErrNotFound, w.name)
	}
	until := int64(0)
	if w.d > 0 {
		until = t.now + int64(w.d)
	}
	in.served.closing = until
	return t.run.exec(setClosing, in.id, until)
}

// held reports whether what is served is held at a moment.
func held(until int64, now time.Time) bool { return heldFor(until, now) > 0 }

// heldFor returns for how long it is held yet. What would be held for longer than can be
// asked for is left from before the clock was set back.
func heldFor(until int64, now time.Time) time.Duration {
	left := time.Duration(until - now.UnixNano())
	if until > 0 && left > 0 && left <= store.MaxHold {
		return left
	}
	return 0
}
