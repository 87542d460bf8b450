package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
)

// Derive implements [store.Deriver].
func (s *Store) Derive(ctx context.Context, d store.Derivation) error {
	if err := store.CheckDerivation(d); err != nil {
		return err
	}
	return s.submit(ctx, newRequest(&deriveWork{d}, true, 100*(1+len(d.Sources))))
}

type deriveWork struct{ store.Derivation }

func (w *deriveWork) do(t *transaction) error {
	in, err := t.collection(w.Name)
	if err != nil {
		return err
	}
	if in != nil && !in.derived {
		return &store.InvalidError{Field: "derived collection", Got: w.Name + ", which has operations of its own", Want: "one that has none"}
	}
	sources, any, err := w.sources(t)
	if err != nil {
		return err
	}
	if in == nil {
		return w.first(t, sources, any)
	}
	version := int64(w.Version)
	living, err := t.run.one(getState, w.Name, version, "")
	if err != nil {
		return err
	}
	if living != nil {
		t.touch = true // it may be visible and not synced
		return w.compare(t, integer(living[0]), truth(living[8]))
	}
	if err := t.makeRoom(in, version); err != nil {
		return err
	}
	if err := w.make(t, in, sources, stateBuilding); err != nil {
		return err
	}
	return t.run.exec(setBuilding, in.id, in.building)
}

// sources returns the sources, and whether any of them has a document.
func (w *deriveWork) sources(t *transaction) (sources []*collection, any bool, err error) {
	for _, name := range w.Sources {
		source, err := t.collection(name)
		if err != nil {
			return nil, false, err
		}
		if source == nil {
			return nil, false, fmt.Errorf("%w: collection %q, a source of %q", store.ErrNotFound, name, w.Name)
		}
		path, err := t.path(source.id, name, w.Name, make(map[int64]bool))
		if err != nil {
			return nil, false, err
		}
		if path != nil {
			return nil, false, &store.CycleError{Path: append([]string{w.Name}, path...)}
		}
		sources = append(sources, source)
		row, err := t.run.one(nextDocument, source.served.space)
		if err != nil {
			return nil, false, err
		}
		any = any || row != nil
	}
	return sources, any, nil
}

// path returns a way from a collection to another that it is made of, nil if there is
// none. seen are those that have none.
func (t *transaction) path(from int64, name, to string, seen map[int64]bool) ([]string, error) {
	if name == to {
		return []string{to}, nil
	}
	if seen[from] {
		return nil, nil
	}
	seen[from] = true
	type source struct {
		id   int64
		name string
	}
	var made []source
	err := t.run.each(madeOf, func(row []driver.Value) bool {
		made = append(made, source{integer(row[0]), text(row[1])})
		return true
	}, from)
	if err != nil {
		return nil, err
	}
	for _, s := range made {
		path, err := t.path(s.id, s.name, to, seen)
		if path != nil || err != nil {
			return append([]string{name}, path...), err
		}
	}
	return nil, nil
}

// compare returns an error if a generation that lives is made otherwise.
func (w *deriveWork) compare(t *transaction, id int64, deltas bool) error {
	mappings, err := t.mappingsOf(id)
	if err != nil {
		return err
	}
	var sources []string
	for _, m := range mappings {
		sources = append(sources, m.name)
	}
	if deltas == w.Deltas && slices.Equal(sources, w.Sources) {
		return nil
	}
	return &store.InvalidError{
		Field: fmt.Sprintf("version %d of %s", w.Version, w.Name),
		Got:   fmt.Sprintf("sources %q and deltas %t", w.Sources, w.Deltas),
		Want:  fmt.Sprintf("%q and %t, as it was registered", sources, deltas),
	}
}

// first makes the collection. If there is something to be filled in, it serves an empty
// generation of version 0 until that is done.
func (w *deriveWork) first(t *transaction, sources []*collection, any bool) error {
	in := &collection{name: w.Name, derived: true}
	row, err := t.run.one(newDerivedCollection, w.Name)
	if err != nil {
		return err
	}
	in.id = integer(row[0])
	serving, building := w.Derivation, int64(0)
	if any {
		serving.Version = 0
		if err := w.make(t, in, sources, stateBuilding); err != nil {
			return err
		}
		building, sources = in.building, nil
	}
	if err := (&deriveWork{serving}).make(t, in, sources, stateServing); err != nil {
		return err
	}
	if err := t.run.exec(setServing, in.id, in.served.id, int64(serving.Version), in.served.epoch, int64(0)); err != nil {
		return err
	}
	return t.run.exec(setSlots, in.id, slot(building), nil)
}

// make makes a generation with its mappings. Its number is below theirs, so that it is
// swept before them.
func (w *deriveWork) make(t *transaction, in *collection, sources []*collection, state int64) error {
	mark, err := t.end()
	if err != nil {
		return err
	}
	id, epoch, err := t.newGeneration()
	if err != nil {
		return err
	}
	started := int64(0)
	if state == stateBuilding {
		started, in.building = t.now, id
	} else {
		in.served = generation{of: in, id: id, space: -id, epoch: epoch, served: true}
	}
	if err := t.run.exec(startDerived, id, in.id, int64(w.Version), int64(0), int64(0), int64(0), number(w.Deltas), state, epoch, int64(0), mark, started); err != nil {
		return err
	}
	row, err := t.run.one(lastDocument)
	if err != nil {
		return err
	}
	until := integer(row[0])
	if state != stateBuilding {
		until = 0 // the sources are empty
	}
	for input, source := range sources {
		mapping, epoch, err := t.newGeneration()
		if err != nil {
			return err
		}
		if err := t.run.exec(startDerived, mapping, in.id, int64(w.Version), source.id, id, int64(input), int64(0), state, epoch, until, mark, t.now); err != nil {
			return err
		}
		if err := t.run.exec(countDependents, source.id); err != nil {
			return err
		}
	}
	t.regenerated()
	return nil
}

// newGeneration gives a generation its number, and an epoch.
func (t *transaction) newGeneration() (id, epoch int64, err error) {
	row, err := t.run.one(bumpMeta, metaGeneration)
	if err != nil {
		return 0, 0, err
	}
	id = integer(row[0])
	epoch, err = t.change()
	return id, epoch, err
}

// mapping is a generation that feeds another.
type mapping struct {
	id, source, epoch          int64
	name                       string // of the source
	scanned, until, made, mark int64
	started                    int64
}

// mappingsOf returns the mappings that feed a generation, in order of input.
func (t *transaction) mappingsOf(generation int64) ([]mapping, error) {
	return mappings(t.run, generation)
}

func mappings(r runner, generation int64) (all []mapping, err error) {
	err = r.each(inputsOf, func(row []driver.Value) bool {
		all = append(all, mapping{
			id: integer(row[2]), source: integer(row[0]), name: text(row[1]),
			scanned: integer(row[3]), until: integer(row[4]), made: integer(row[5]), mark: integer(row[6]), started: integer(row[7]), epoch: integer(row[8]),
		})
		return true
	}, generation)
	return all, err
}
