package storetest

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// run returns what a run of a document makes. With parts it may do a part of it.
func (m *derivedRun) run(r *rapid.T, k store.Key, parts bool) store.Commit {
	n, err := store.ParseCollection(k.Collection)
	if err != nil {
		r.Fatal(err)
	}
	d := m.load(r, k)
	c := store.Commit{Key: k, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head}
	set := func(view string, deleted bool) { c.View, c.Deleted = []byte(view), deleted }
	switch {
	case n.Source != "":
		c.Effects = m.effects(r, n, d, parts)
		c.Applied = c.Effects.From.To
	case n.Name == "notes" || n.Name == "tasks":
		if parts {
			c.Applied = rapid.Int64Range(d.Applied+1, d.Head).Draw(r, "applied")
		}
		set(wordsOf(n.Version, collect(r, store.ReadOperations(background, m.b, k, 1))[:c.Applied]))
	case n.Name == "tags":
		set(reduced(m.contributions(r, k)))
	case n.Name == "sums":
		deltas := collect(r, store.ReadOperations(background, m.b, k, d.Applied+1))
		if slices.ContainsFunc(deltas, func(op store.Operation) bool { return len(op.Body) == 0 }) {
			set(reduced(m.contributions(r, k))) // a source was forgotten
			break
		}
		if parts {
			c.Applied = rapid.Int64Range(d.Applied+1, d.Head).Draw(r, "applied")
		}
		set(added(string(d.View), deltas[:c.Applied-d.Applied]))
	default:
		read := make(map[store.Key]bool)
		set(pageOf(k.ID, func(source store.Key) []byte {
			d := m.load(r, source)
			if !read[source] {
				c.Reads = append(c.Reads, store.Read{Key: source, Version: d.Changed})
			}
			read[source] = true
			return d.View
		}))
	}
	return c
}

// effects returns those of a document of a mapping that was loaded.
func (m *derivedRun) effects(r *rapid.T, n store.CollectionName, d store.Document, parts bool) *store.Effects {
	e := &store.Effects{From: d.Round, Touch: n.Name == "pages"}
	if e.From.To == 0 {
		e.From.To = d.Head
	}
	if e.From.Readers {
		return e
	}
	for _, p := range m.pairs(r, n, d.Key.ID) {
		if p.Key > e.From.After {
			e.Pairs = append(e.Pairs, p)
		}
	}
	if parts && rapid.IntRange(0, 2).Draw(r, "slice") == 0 {
		for i, p := range e.Pairs {
			if rapid.Bool().Draw(r, "up to here") {
				e.Pairs, e.Upto = e.Pairs[:i+1], p.Key
				break
			}
		}
	}
	return e
}

// pairs returns those of a source document as it is served.
func (m *derivedRun) pairs(r *rapid.T, n store.CollectionName, id string) []store.Pair {
	source := store.Key{Collection: n.Source, ID: id}
	if n.Name == "pages" {
		return keysOf(source)
	}
	return pairsOf(n.Name, n.Version, source, m.load(r, source).View)
}

func (m *derivedRun) contributions(r *rapid.T, k store.Key) (all []store.Contribution) {
	var after store.Contributor
	for {
		page, err := m.b.Contributions(background, k, after, store.Budget{Operations: 3})
		if err != nil {
			r.Fatalf("Contributions: %v", err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].Contributor
	}
}
