package sqlite

import (
	"database/sql/driver"

	"github.com/refold-go/refold/store"
)

// dependents returns the living mappings that read a collection.
func (t *transaction) dependents(in *collection) ([]receivers, error) {
	if in.mappings != nil || in.dependents == 0 {
		return in.mappings, nil
	}
	err := t.run.each(listDependents, func(row []driver.Value) bool {
		name := store.CollectionName{Name: text(row[4]), Version: int(integer(row[2])), Source: in.name}
		in.mappings = append(in.mappings, receivers{
			generation: integer(row[0]), space: integer(row[1]), epoch: integer(row[3]), name: name.String(),
		})
		return true
	}, in.id)
	return in.mappings, err
}

// tell gives the document of each mapping that reads a collection a delta: the durable
// fan-out rows of a change of what is served.
func (t *transaction) tell(in *collection, id string, d *delta, woken *[]store.Key) error {
	mappings, err := t.dependents(in)
	if err != nil {
		return err
	}
	for i := range mappings {
		to, err := t.receiver(&mappings[i], id)
		if err != nil {
			return err
		}
		if _, err := t.give(&mappings[i], to, id, d, woken); err != nil {
			return err
		}
	}
	return nil
}
