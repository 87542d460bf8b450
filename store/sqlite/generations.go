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

// numbered is a generation with its number.
type numbered struct {
	store.Generation
	id      int64
	derived bool
}

// addMappings adds up how far the mappings of a generation are filled.
func (g *numbered) addMappings(c *conn) error {
	mappings, err := mappings(c, g.id)
	for _, m := range mappings {
		g.Filled = g.Filled && m.scanned >= m.until
		g.Scanned, g.ToScan, g.Made = g.Scanned+m.scanned, g.ToScan+m.until, g.Made+m.made
	}
	return err
}

// Generations implements [store.Generator].
func (s *Store) Generations(ctx context.Context, collection string) ([]store.Generation, error) {
	var rows []numbered
	err := s.read(ctx, func(c *conn) error {
		rows = nil
		err := c.each(listGenerations, func(row []driver.Value) bool {
			g := numbered{id: integer(row[7]), derived: integer(row[8]) < 0}
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
		for i := range rows {
			if err == nil && rows[i].derived {
				err = rows[i].addMappings(c)
			}
		}
		return err
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
	id, epoch, err := t.newGeneration()
	if err != nil {
		return err
	}
	row, err := t.run.one(lastDocument)
	if err != nil {
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
	t.regenerated()
	return t.run.exec(setBuilding, in.id, id)
}

// Hold implements [store.Generator].
func (s *Store) Hold(ctx context.Context, collection string, mine time.Time, d time.Duration) (until time.Time, err error) {
	if err := store.CheckBare(collection); err != nil {
		return time.Time{}, err
	}
	w := &holdWork{name: collection, d: min(d, store.MaxHold)}
	if !mine.IsZero() {
		w.mine = mine.UnixNano()
	}
	if err := s.submit(ctx, newRequest(w, false, 100)); err != nil || w.until == 0 {
		return time.Time{}, err
	}
	return time.Unix(0, w.until), nil
}

type holdWork struct {
	name        string
	mine, until int64
	d           time.Duration
}

func (w *holdWork) do(t *transaction) error {
	in, err := t.collection(w.name)
	if err != nil {
		return err
	}
	if in == nil {
		return fmt.Errorf("%w: collection %q", store.ErrNotFound, w.name)
	}
	w.until = 0 // it may be tried again
	if closing := in.served.closing; held(closing, time.Unix(0, t.now)) && closing != w.mine {
		return nil
	}
	if w.d > 0 {
		w.until = t.now + int64(w.d)
	}
	t.regenerated()
	return t.run.exec(setClosing, in.id, w.until)
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
