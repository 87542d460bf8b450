package sqlite

import (
	"database/sql/driver"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// transaction is what the requests of one transaction share. The counter of
// positions is read once, if it is not remembered, and written once, so that it stays without gaps when
// the transaction is rolled back.
type transaction struct {
	run  runner
	of   store.Incarnation
	salt uint64 // of the hashes of what was forgotten
	now  int64  // the store's clock, nanoseconds
	// synced tells that its commit is synced, and skip that the numbers of changes
	// up to the ceiling must be left out.
	synced, skip bool

	last        int64 // the last position given; -1 if not read yet
	moved       bool  // whether positions were given
	touch       bool  // whether something must be written so that it is synced
	collections map[string]*collection
	named       map[string]*generation // by names that are not bare
	forgets     forgets
	changes     changeNumbers
	args        []driver.Value // memory for arguments
	memo        *memo          // nil if there is none, or it is not kept right
}

func newTransaction(run runner, of store.Incarnation, salt uint64, now time.Time) *transaction {
	return &transaction{run: run, of: of, salt: salt, now: now.UnixNano(), last: -1}
}

// checkOurs returns an error if the file is not any more what it was when it was
// opened: another process has brought the schema to a version that this one does not
// know, or has renewed the store.
func (t *transaction) checkOurs(w *writer) error {
	row, err := t.run.one(getOurs)
	if err != nil {
		return err
	}
	if version := integer(row[0]); version != w.version {
		return &SchemaError{Path: w.path, Found: int(version), Expected: int(w.version)}
	}
	if store.Incarnation(integer(row[1])) != t.of /* #nosec G115 -- only the bits matter */ {
		return ErrRenewed
	}
	return nil
}

// collection is a row of refold_collections.
type collection struct {
	name        string
	id, version int64
	epoch       int64 // of new documents
	served      generation
	// building and kept are the generations beside the one that is served, 0 if there
	// is none. A kept one may be set aside.
	building, kept int64
	derived        bool
	dependents     int64       // how many living mappings read it
	mappings       []receivers // these; nil if not read yet
}

// notDerived returns an error if the collection, which may be nil, is a derived one.
func (c *collection) notDerived(field string) error {
	if c == nil || !c.derived {
		return nil
	}
	return &store.InvalidError{Field: field, Got: c.name + ", a derived collection", Want: "one that is not made from others"}
}

// beside returns the generations that live beside the one that is served.
func (c *collection) beside() [2]int64 { return [2]int64{c.building, c.kept} }

// collection returns the collection, nil if there is none.
func (t *transaction) collection(name string) (*collection, error) {
	if c := t.collections[name]; c != nil {
		return c, nil
	}
	row, err := t.run.one(getCollection, name)
	if err != nil || row == nil {
		return nil, err
	}
	if t.forgets == notAsked {
		t.forgets = forgotNone
		if row[5] != nil {
			t.forgets = forgotSome
		}
	}
	c := &collection{
		id: integer(row[0]), version: integer(row[1]), epoch: integer(row[3]), building: integer(row[6]), kept: integer(row[7]),
		derived: truth(row[9]), dependents: integer(row[10]),
	}
	c.serve(integer(row[2]))
	c.served.paused, c.served.closing = truth(row[4]), integer(row[8])
	return t.remember(name, c), nil
}

// serve sets what the collection shows, of its version and epoch.
func (c *collection) serve(id int64) {
	space := c.id
	if c.derived {
		space = -id
	}
	c.served = generation{of: c, id: id, space: space, version: c.version, epoch: c.epoch, served: true, paused: c.served.paused}
}

// makeCollection makes the collection, with a generation of its own.
func (t *transaction) makeCollection(name string, version int64) (*collection, error) {
	row, err := t.run.one(bumpMeta, metaGeneration)
	if err != nil {
		return nil, err
	}
	c, id := &collection{version: version}, integer(row[0])
	if row, err = t.run.one(getMeta, metaDropped); err != nil {
		return nil, err
	}
	// Not a number of its own: an append must give none, see change.
	c.epoch = integer(row[0])
	if row, err = t.run.one(newCollection, name, version, id, c.epoch); err != nil {
		return nil, err
	}
	c.id = integer(row[0])
	c.serve(id)
	if err := t.run.exec(newGeneration, c.served.id, c.id, version, stateServing, c.epoch); err != nil {
		return nil, err
	}
	return t.remember(name, c), nil
}

func (t *transaction) remember(name string, c *collection) *collection {
	if t.collections == nil {
		t.collections = make(map[string]*collection)
	}
	name = strings.Clone(name) // it may be kept for long
	c.name, t.collections[name] = name, c
	return c
}

// position gives the next n positions and returns the one before the first.
func (t *transaction) position(n int) (int64, error) {
	before, err := t.end()
	if err != nil {
		return 0, err
	}
	t.last += int64(n)
	t.moved = true
	return before, nil
}

// end returns the last position given.
func (t *transaction) end() (int64, error) {
	if t.last < 0 {
		row, err := t.run.one(getMeta, metaPosition)
		if err != nil {
			return 0, err
		}
		t.last = integer(row[0])
	}
	return t.last, nil
}

// finish writes what the requests share.
func (t *transaction) finish() error {
	if err := t.finishChanges(); err != nil {
		return err
	}
	if t.moved {
		return t.run.exec(setMeta, metaPosition, t.last)
	}
	if t.touch {
		return t.run.exec(bumpMeta, metaSynced)
	}
	return nil
}
