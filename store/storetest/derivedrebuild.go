package storetest

import (
	"errors"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// derive registers a derived collection, or a higher version of it.
func (m *derivedRun) derive(r *rapid.T) {
	d := rapid.SampledFrom(modelDerivations).Draw(r, "collection")
	names, all := m.living(r, d.Name)
	d.Version = 1
	for _, g := range all {
		d.Version = max(d.Version, g.Version+1)
	}
	if len(names) > 0 && rapid.IntRange(0, 2).Draw(r, "higher") > 0 {
		return
	}
	m.deriveVersion(r, d, d.Version)
}

func (m *derivedRun) deriveVersion(r *rapid.T, d store.Derivation, version int) {
	d.Version = version
	err := m.b.Derive(background, d)
	if errors.Is(err, store.ErrNotFound) && m.missing(r, d) {
		return
	}
	if err != nil {
		r.Fatalf("Derive %+v: %v", d, err)
	}
	name := store.CollectionName{Name: d.Name, Version: d.Version}.String()
	m.marks[name], m.reached[name] = m.last, m.last
}

// missing reports whether a source is not there.
func (m *derivedRun) missing(r *rapid.T, d store.Derivation) bool {
	return slices.ContainsFunc(d.Sources, func(source string) bool {
		names, _ := m.living(r, source)
		return len(names) == 0 && len(mustGenerations(r, m.b, source)) == 0
	})
}

// rebuild fills a generation, switches to it, goes back or drops one.
func (m *derivedRun) rebuild(r *rapid.T) {
	collection := rapid.SampledFrom([]string{"notes", "tasks", "tags", "tags", "pages", "sums"}).Draw(r, "collection")
	names, all := m.living(r, collection)
	if len(names) == 0 {
		return
	}
	i := rapid.IntRange(0, len(names)-1).Draw(r, "generation")
	switch what := rapid.IntRange(0, 9).Draw(r, "what"); {
	case what == 0:
		err := m.b.Rollback(background, collection)
		if err == nil {
			m.served(r, collection)
		} else if !errors.Is(err, store.ErrNotFound) {
			r.Fatalf("Rollback of %s: %v", collection, err)
		}
	case what == 1:
		if err := m.b.Retire(background, names[i]); (err != nil) != (all[i].State == store.Serving) {
			r.Fatalf("Retire %s, which is %s: %v", names[i], all[i].State, err)
		}
		if _, err := m.b.Sweep(background); err != nil {
			r.Fatalf("Sweep: %v", err)
		}
	case what == 2 && (collection == "notes" || collection == "tasks"):
		if err := m.b.Register(background, collection, all[len(all)-1].Version+1); err != nil {
			r.Fatalf("Register: %v", err)
		}
	case what <= 4:
		m.fill(r, names[i])
	default:
		if m.fill(r, names[i]); what > 6 {
			for _, name := range rowsOf(names[i])[1:] {
				m.runAll(r, name)
			}
			m.runAll(r, names[i])
		}
		m.switchTo(r, collection, names[i])
	}
}

func (m *derivedRun) runAll(r *rapid.T, name string) {
	for _, one := range collect(r, m.b.Runnable(background, []string{name})) {
		m.commit(r, m.run(r, one.Key, true))
	}
}

func (m *derivedRun) fill(r *rapid.T, name string) {
	for more := true; more; {
		var err error
		if more, err = m.b.Fill(background, name); err != nil {
			r.Fatalf("Fill %s: %v", name, err)
		}
	}
}

// served notes that another generation of a collection is served, so that all that is
// made of it is filled again.
func (m *derivedRun) served(r *rapid.T, collection string) {
	_, all := m.living(r, collection)
	m.reached[store.CollectionName{Name: collection, Version: served(all)}.String()] = m.last
	for _, d := range modelDerivations {
		names, _ := m.living(r, d.Name)
		for _, name := range names {
			if slices.Contains(d.Sources, collection) {
				m.marks[name] = m.last
			}
		}
	}
}

func (m *derivedRun) switchTo(r *rapid.T, collection, name string) {
	force := rapid.Bool().Draw(r, "force")
	_, all := m.living(r, collection)
	derived := collection != "notes" && collection != "tasks"
	want := m.obstacle(r, collection, name, force)
	before := served(all)
	got, err := m.b.Switch(background, name, store.SwitchTerms{Force: force})
	if err != nil {
		r.Fatalf("Switch to %s: %v", name, err)
	}
	if derived && got.Why != want {
		r.Fatalf("in the way of %s is %+v, want %s; the mark is %d", name, got, want, m.marks[name])
	}
	if k := got.Document; derived && (got.Why == store.Behind || got.Why == store.ParkedBehind) &&
		(!strings.HasPrefix(k.Collection, name) || !m.load(r, k).Dirty()) {
		r.Fatalf("in the way of %s is %s", name, k)
	}
	if _, now := m.living(r, collection); served(now) != before {
		m.served(r, collection)
	}
}

// served returns the version that is; 0 if it is the empty one.
func served(all []store.Generation) int {
	for _, g := range all {
		if g.State == store.Serving {
			return g.Version
		}
	}
	return 0
}

// obstacle returns what is in the way of a generation of a derived collection.
func (m *derivedRun) obstacle(r *rapid.T, collection, name string, force bool) store.Hindrance {
	_, all := m.living(r, collection)
	version := served(all)
	serving := store.CollectionName{Name: collection, Version: version}.String()
	if serving == name {
		return store.Unhindered
	}
	for _, g := range all {
		if name == (store.CollectionName{Name: collection, Version: g.Version}.String()) && !g.Filled {
			return store.Unfilled
		}
	}
	oldest := func(name string) store.Position {
		for _, one := range collect(r, m.b.Runnable(background, rowsOf(name))) {
			return one.Since.Position
		}
		return 0
	}
	mark := m.marks[name]
	if mine := oldest(name); mine > 0 && (mine <= mark || version > 0 && mine <= m.reached[serving]) {
		return store.Behind
	}
	for _, rows := range rowsOf(name) {
		for _, d := range collect(r, m.b.Parked(background, rows)) {
			k := store.Key{Collection: serving + strings.TrimPrefix(rows, name), ID: d.Key.ID}
			old := m.load(r, k)
			lacks := version == 0 || old.Parked() && old.Since.Position <= d.Since.Position
			if !force && (d.Since.Position <= mark || !lacks) {
				return store.ParkedBehind
			}
		}
	}
	return store.Unhindered
}

// remove seldom forgets a document, and more seldom drops a collection.
func (m *derivedRun) remove(r *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(r, "remove") {
	case 0, 1:
		k := store.Key{
			Collection: rapid.SampledFrom([]string{"notes", "tasks"}).Draw(r, "collection"),
			ID:         rapid.SampledFrom(modelWords).Draw(r, "id"),
		}
		m.forgotten[k] = true
		if err := m.b.Forget(background, k); err != nil {
			r.Fatalf("Forget %s: %v", k, err)
		}
	case 2:
		name := rapid.SampledFrom([]string{"notes", "tags", "pages", "sums"}).Draw(r, "drop")
		inUse := slices.ContainsFunc(modelDerivations, func(d store.Derivation) bool {
			names, _ := m.living(r, d.Name)
			return slices.Contains(d.Sources, name) && len(names) > 0
		})
		if name == "notes" && !inUse {
			return // the model begins with it
		}
		if err := m.b.Drop(background, name); (err != nil) != inUse || err != nil && !errors.Is(err, store.ErrInvalid) {
			r.Fatalf("Drop %s: %v", name, err)
		}
	}
}
