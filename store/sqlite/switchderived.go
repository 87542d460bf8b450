package sqlite

import "github.com/refold-go/refold/store"

// part is a generation of a derived collection, or one of its mappings.
type part struct {
	id   int64
	name store.CollectionName
}

// parts returns a generation of a derived collection with its mappings, and the end of
// the log when the last filling began; filled tells whether that is done.
func (t *transaction) parts(id int64, name store.CollectionName) (all []part, mark int64, filled bool, err error) {
	mappings, err := t.mappingsOf(id)
	filled = true
	for _, m := range mappings {
		name.Source = m.name
		all = append(all, part{m.id, name})
		mark, filled = max(mark, m.mark), filled && m.scanned >= m.until
	}
	name.Source = ""
	return append(all, part{id, name}), mark, filled, err
}

// oldest returns the dirty document of some generations that lacks something for the
// longest time, and since when; 0 if there is none.
func (t *transaction) oldest(parts []part, parked bool) (first store.Key, since int64, err error) {
	for _, p := range parts {
		row, err := t.run.one(runnablePage, p.id, int64(0), int64(1), number(parked), int64(0))
		if err != nil {
			return store.Key{}, 0, err
		}
		if row == nil {
			continue
		}
		if at := integer(row[1]); since == 0 || at < since {
			first, since = store.Key{Collection: p.name.String(), ID: text(row[0])}, at
		}
	}
	return first, since, nil
}

// reached notes where the log ends when a derived document that is served is made, if
// there is a generation that may be compared with it.
func (g *guarded) reached(t *transaction) error {
	if !g.in.derived() || !g.in.served || g.in.of.beside() == [2]int64{} {
		return nil
	}
	return t.setReached(g.in.id)
}

func (t *transaction) setReached(generation int64) error {
	end, err := t.end()
	if err != nil {
		return err
	}
	return t.run.exec(setMark, generation, end)
}

// lookDerived is look for a derived collection. Its documents have no operations to be
// compared by, so that what they lack is compared with what is served by where the log
// ended; see [store.Deriver].
func (w *switchWork) lookDerived(t *transaction, g *state) (store.Obstacle, error) {
	parts, mark, filled, err := t.parts(g.id, w.name)
	if err != nil {
		return store.Obstacle{}, err
	}
	if !filled {
		return store.Obstacle{Why: store.Unfilled}, nil
	}
	row, err := t.run.one(getMark, g.in.served.id)
	if err != nil || row == nil {
		return store.Obstacle{}, err
	}
	first, since, err := t.oldest(parts, false)
	if err != nil {
		return store.Obstacle{}, err
	}
	if since > 0 && since <= max(mark, integer(row[0])) {
		return store.Obstacle{Why: store.Behind, Document: first}, nil
	}
	if w.terms.Force {
		return store.Obstacle{}, nil
	}
	if first, since, err = t.oldest(parts, true); err != nil || since == 0 {
		return store.Obstacle{}, err
	}
	if since <= mark {
		return store.Obstacle{Why: store.ParkedBehind, Document: first}, nil
	}
	if g.in.version == 0 {
		return store.Obstacle{}, nil
	}
	return w.parkedHere(t, g, parts)
}

// parkedHere finds a parked document of some generations that lacks what what is served
// does not lack for the same reason.
func (w *switchWork) parkedHere(t *transaction, g *state, parts []part) (store.Obstacle, error) {
	served, _, _, err := t.parts(g.in.served.id, w.name)
	if err != nil {
		return store.Obstacle{}, err
	}
	for _, p := range parts {
		other := int64(0)
		for _, s := range served {
			if s.name.Source == p.name.Source {
				other = s.id
			}
		}
		row, err := t.run.one(firstParkedHere, p.id, other)
		if err != nil || row != nil {
			return asObstacle(store.ParkedBehind, p.name, row), err
		}
	}
	return store.Obstacle{}, nil
}

// lacks returns the place of the first operation that views of what is served lack, or the end of
// the log if they lack nothing: what is made of what is served next may lack that too.
func (t *transaction) lacks(in *collection) (int64, error) {
	end, err := t.end()
	if err != nil || in.dependents == 0 {
		return end, err
	}
	parts := []part{{id: in.served.id}}
	mappings, err := t.mappingsOf(in.served.id)
	if err != nil {
		return 0, err
	}
	for _, m := range mappings {
		parts = append(parts, part{id: m.id})
		if m.scanned < m.until {
			end = min(end, m.mark) // what it was not filled with yet
		}
	}
	for _, parked := range []bool{false, true} {
		_, since, err := t.oldest(parts, parked)
		if err != nil {
			return 0, err
		}
		if since > 0 {
			end = min(end, since)
		}
	}
	return end, nil
}
