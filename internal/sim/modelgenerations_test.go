package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// modelCollection is what the model knows of a collection.
type modelCollection struct {
	// served is the version that is served, 0 if nobody has made anything yet, beside the
	// versions of the others that live.
	served int
	beside []int
	was    []int // which versions were ever served
	// held is until when what is served is held.
	held time.Time
	// dropping tells that rows of a generation that does not live any more are left.
	dropping bool
	// unfilled are the versions of a derived collection that Fill was not called for since
	// another generation of a source was served.
	unfilled map[int]bool
	// sources are those of each version of a derived collection.
	sources map[int][]string
}

// generation returns what a name means, with the version.
func (m *model) generation(name string) store.CollectionName {
	if name == collection {
		return store.CollectionName{Name: name, Version: m.collections[name].served}
	}
	n, err := store.ParseCollection(name)
	if err != nil {
		return store.CollectionName{Name: name}
	}
	if c := m.collections[n.Name]; n.Version == 0 && c != nil {
		n.Version = c.served
	}
	return n
}

// row is the name of a row in traces: that of the document in the plain collection as long
// as it has only one version.
func row(k store.Key) string {
	switch k.Collection {
	case collection, collection + "@1":
		return k.ID
	}
	return k.Collection + "/" + k.ID
}

// living returns the versions of a collection that live.
func (c *modelCollection) living() []int { return append([]int{c.served}, c.beside...) }

// heldBack reports whether no lease of a document is to be had.
func (m *model) heldBack(d *modelDoc) bool {
	n := m.generation(d.key.Collection)
	c := m.collections[n.Name]
	return m.paused && n.Name == collection || c != nil && n.Version == c.served && c.held.After(time.Now())
}

// rowsOf returns the rows of a generation and of the mappings that feed it, in order.
func (m *model) rowsOf(name string, version int) []*modelDoc {
	own := store.CollectionName{Name: name, Version: version}.String()
	return m.rows(func(k store.Key) bool { return k.Collection == own || strings.HasPrefix(k.Collection, own+"<") })
}

// rows returns those whose keys match, in order.
func (m *model) rows(match func(store.Key) bool) []*modelDoc {
	var all []*modelDoc
	for k, d := range m.docs {
		if match(k) {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b *modelDoc) int { return compareKeys(a.key, b.key) })
	return all
}

func compareKeys(a, b store.Key) int {
	if c := strings.Compare(a.Collection, b.Collection); c != 0 {
		return c
	}
	return strings.Compare(a.ID, b.ID)
}

// served returns the rows of the plain collection that are served, in order.
func (m *model) served() []*modelDoc {
	return m.rowsOf(collection, m.collections[collection].served)
}

// appear notes the row of a document, if it is in the store.
func (sh *shared) appear(d *modelDoc) {
	if d.exists {
		return
	}
	doc := sh.load(d.key)
	if doc.Head == 0 {
		return
	}
	d.exists, d.epoch, d.top = true, doc.Epoch, doc.Epoch
	for _, version := range sh.model.collections[store.BareName(d.key.Collection)].living() {
		n := sh.model.generation(d.key.Collection)
		n.Version = version
		other := sh.model.docs[store.Key{Collection: n.String(), ID: d.key.ID}]
		if other != nil && other != d && other.exists && other.epoch == d.epoch {
			sh.w.fail("%s begins with the epoch %d, which %s has", d.key, d.epoch, other.key)
		}
	}
}

// appearAll notes the rows that an append or a filling has made of documents of the plain
// collection.
func (sh *shared) appearAll() {
	for _, version := range sh.model.collections[collection].living() {
		if version == 1 && len(sh.model.collections[collection].beside) == 0 {
			continue // as the model knows
		}
		name := store.CollectionName{Name: collection, Version: version}.String()
		for id, c := range sh.model.contents {
			if len(c.ops) > 0 {
				sh.appear(sh.model.doc(store.Key{Collection: name, ID: id}))
			}
		}
	}
}

// learn reads which generations of a collection there are. Rows of those that are gone go, and
// what is served may only change to the version may.
func (sh *shared) learn(name string, may int) {
	all, err := sh.inner.Generations(context.Background(), name)
	if err != nil {
		sh.w.fail("reading the generations of %s: %v", name, err)
	}
	m := sh.model
	c := m.collections[name]
	if c == nil {
		c = &modelCollection{sources: make(map[int][]string), unfilled: make(map[int]bool)}
		m.collections[name] = c
	}
	before := c.living()
	served := c.served
	c.beside = nil
	defer func() {
		for _, version := range c.beside {
			if !slices.Contains(before, version) {
				c.unfilled[version] = true
			}
		}
	}()
	for i := range all {
		switch all[i].State {
		case store.Serving:
			served = all[i].Version
		case store.Dropping:
		default:
			c.beside = append(c.beside, all[i].Version)
		}
	}
	if served != c.served && served != may {
		sh.w.fail("version %d of %s is served, and was %d", served, name, c.served)
	}
	if c.served = served; served > 0 && !slices.Contains(c.was, served) {
		c.was = append(c.was, served)
	}
	for _, version := range before {
		if !slices.Contains(c.living(), version) {
			sh.forgetRows(m.rowsOf(name, version))
			c.dropping = true
		}
	}
	if name == collection {
		sh.appearAll()
	}
}

// forgetRows takes rows out that are not in the store any more.
func (sh *shared) forgetRows(rows []*modelDoc) {
	for _, d := range rows {
		d.lease.voids(row(d.key))
		delete(sh.model.docs, d.key)
		delete(sh.touched, d.key)
	}
}
