package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// Switch implements [store.Generator].
func (s *Store) Switch(ctx context.Context, generation string, terms store.SwitchTerms) (store.Obstacle, error) {
	name, err := store.ParseGeneration(generation)
	if err != nil {
		return store.Obstacle{}, err
	}
	w := &switchWork{name: name, terms: terms}
	if err := s.submit(ctx, newRequest(w, true, 1000)); err != nil {
		return store.Obstacle{}, err
	}
	if w.switched {
		s.listeners.Switched(name.Name)
	}
	return w.obstacle, nil
}

type switchWork struct {
	name  store.CollectionName
	terms store.SwitchTerms

	obstacle store.Obstacle
	switched bool
}

func (w *switchWork) do(t *transaction) error {
	w.switched = false
	g, err := t.state(w.name)
	if err != nil {
		return err
	}
	if g.state == stateServing {
		t.touch = true // it may be visible and not synced
		w.obstacle = store.Obstacle{}
		return nil
	}
	if w.terms.New && g.state != stateBuilding {
		return fmt.Errorf("%w: generation %s that is being built", store.ErrNotFound, w.name)
	}
	if w.obstacle, err = w.look(t, g); err != nil || w.obstacle.Why != store.Unhindered {
		return err
	}
	w.switched = true
	retire := int64(0)
	if w.terms.Keep > 0 {
		retire = time.Unix(0, t.now).Add(w.terms.Keep).UnixNano()
	}
	building, before := g.in.building, g.in.kept
	if building == g.id {
		building = 0
	}
	if before != 0 && before != g.id {
		if err := t.startSweeping(g.in, before); err != nil {
			return err
		}
	}
	return t.serve(g, stateKept, retire, building)
}

// look returns what is in the way. A document that is clean in the new generation
// has at least as much as it has in the old one, so only dirty ones are compared.
func (w *switchWork) look(t *transaction, g *state) (store.Obstacle, error) {
	if g.in.derived {
		return w.lookDerived(t, g)
	}
	if g.scanned < g.until {
		return store.Obstacle{Why: store.Unfilled}, nil
	}
	if row, err := t.run.one(manyDirty, g.id, int64(store.MaxDirty)); err != nil || row != nil {
		return store.Obstacle{Why: store.TooDirty}, err
	}
	for parked, why := range []store.Hindrance{store.Behind, store.ParkedBehind} {
		if why == store.ParkedBehind && w.terms.Force {
			break
		}
		row, err := t.run.one(firstBehind, g.id, g.in.served.id, int64(parked))
		if err != nil || row != nil {
			return asObstacle(why, w.name, row), err
		}
	}
	return store.Obstacle{}, nil
}

func asObstacle(why store.Hindrance, name store.CollectionName, row []driver.Value) store.Obstacle {
	if row == nil {
		return store.Obstacle{}
	}
	return store.Obstacle{Why: why, Document: store.Key{Collection: name.String(), ID: text(row[0])}}
}

// serve serves a generation. The one that was served gets another state, and the
// place of the one that is kept. The number of the switch is greater than all that
// changes have had before, for who follows them.
func (t *transaction) serve(g *state, old, retire, building int64) error {
	number, err := t.change()
	if err != nil {
		return err
	}
	in, before := g.in, g.in.served.id
	lacks, err := t.lacks(in)
	if err != nil {
		return err
	}
	kept := before
	if in.derived && in.version == 0 {
		old, kept = stateDropping, 0 // it is empty
	}
	if err := t.setState(in, before, old, retire); err != nil {
		return err
	}
	if err := t.setState(in, g.id, stateServing, 0); err != nil {
		return err
	}
	if err := t.run.exec(setSlots, in.id, slot(building), slot(kept)); err != nil {
		return err
	}
	if err := t.run.exec(setServing, in.id, g.id, g.version, g.epoch, number); err != nil {
		return err
	}
	if in.derived {
		if err := t.setReached(g.id); err != nil {
			return err
		}
	}
	t.regenerated()
	if in.dependents == 0 {
		return nil
	}
	return t.refill(in, lacks)
}

// setState gives a generation a state, and its mappings.
func (t *transaction) setState(in *collection, id, state, retire int64) error {
	if err := t.run.exec(setState, id, state, retire); err != nil || !in.derived {
		return err
	}
	return t.run.exec(setMappings, id, state)
}

// startSweeping takes the name of a generation away.
func (t *transaction) startSweeping(in *collection, id int64) error {
	t.regenerated()
	if err := t.setState(in, id, stateDropping, 0); err != nil || !in.derived {
		return err
	}
	mappings, err := t.mappingsOf(id)
	if err != nil {
		return err
	}
	for _, m := range mappings {
		if err := t.run.exec(countDependents, m.source); err != nil {
			return err
		}
	}
	return nil
}

// refill begins to fill what is made of a collection again, of which another generation is
// served now.
func (t *transaction) refill(in *collection, mark int64) error {
	row, err := t.run.one(lastDocument)
	if err != nil {
		return err
	}
	until := integer(row[0])
	return t.run.exec(refill, in.id, until, mark, t.now)
}

// slot gives NULL for no generation.
func slot(id int64) driver.Value {
	if id == 0 {
		return nil
	}
	return id
}

// Rollback implements [store.Generator].
func (s *Store) Rollback(ctx context.Context, collection string) error {
	if err := store.CheckBare(collection); err != nil {
		return err
	}
	if err := s.submit(ctx, newRequest(&rollbackWork{collection}, true, 1000)); err != nil {
		return err
	}
	s.listeners.Switched(collection)
	return nil
}

type rollbackWork struct{ name string }

func (w *rollbackWork) do(t *transaction) error {
	in, err := t.collection(w.name)
	if err != nil {
		return err
	}
	if in != nil && in.kept != 0 {
		row, err := t.run.one(getKept, in.kept)
		if err != nil {
			return err
		}
		if row != nil && integer(row[3]) == stateKept {
			g := &state{id: integer(row[0]), version: integer(row[1]), space: integer(row[2]), epoch: integer(row[4]), in: in}
			return t.serve(g, stateAside, 0, in.building)
		}
	}
	return fmt.Errorf("%w: no generation of %q is kept", store.ErrNotFound, w.name)
}

// Retire implements [store.Generator].
func (s *Store) Retire(ctx context.Context, generation string) error {
	name, err := store.ParseGeneration(generation)
	if err != nil {
		return err
	}
	return s.submit(ctx, newRequest(&retireWork{name}, true, 100))
}

type retireWork struct{ name store.CollectionName }

func (w *retireWork) do(t *transaction) error {
	g, err := t.state(w.name)
	if err != nil {
		return err
	}
	if g.state == stateServing {
		return &store.InvalidError{Field: "generation to retire", Got: w.name.String() + ", which is served", Want: "one that is not"}
	}
	return t.retire(g.in, g.id)
}

// retire takes the name of a generation away, and its place in the collection.
func (t *transaction) retire(in *collection, id int64) error {
	if err := t.startSweeping(in, id); err != nil {
		return err
	}
	if in.building == id {
		in.building = 0
	}
	if in.kept == id {
		in.kept = 0
	}
	return t.run.exec(setSlots, in.id, slot(in.building), slot(in.kept))
}
