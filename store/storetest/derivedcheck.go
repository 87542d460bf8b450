package storetest

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// check looks at each generation that has all its rows: where neither a document nor what
// tells it is dirty, it must be as if it were computed now.
func (m *derivedRun) check(r *rapid.T) {
	for _, d := range modelDerivations {
		names, all := m.living(r, d.Name)
		for i, name := range names {
			if all[i].Filled {
				m.checkGeneration(r, d, name)
			}
		}
	}
	for k := range m.forgotten {
		m.checkForgotten(r, k)
	}
}

// checkGeneration is check for one generation.
func (m *derivedRun) checkGeneration(r *rapid.T, d store.Derivation, name string) {
	n, _ := store.ParseCollection(name)
	has := make(map[store.Contributor]map[string]string) // by who contributes
	documents := make(map[string]store.Document)
	for _, one := range collect(r, m.b.Scan(background, name, "", store.WithViews)) {
		documents[one.Key.ID] = one
		for _, c := range m.contributions(r, one.Key) {
			if has[c.Contributor] == nil {
				has[c.Contributor] = make(map[string]string)
			}
			has[c.Contributor][one.Key.ID] = string(c.Body)
		}
	}
	told := make(map[store.Key]bool) // whose mapping's document is clean
	for input, source := range d.Sources {
		n.Source = source
		rows := make(map[string]store.Document)
		for _, row := range collect(r, m.b.Scan(background, n.String(), "", store.WithViews)) {
			rows[row.Key.ID] = row
		}
		for _, s := range collect(r, m.b.Scan(background, source, "", store.WithViews)) {
			if _, there := rows[s.Key.ID]; !there && s.View != nil {
				r.Fatalf("%s has a view and no document in %s", s.Key, n)
			}
		}
		for id, row := range rows {
			if row.Dirty() {
				continue
			}
			told[store.Key{Collection: source, ID: id}] = true
			want := make(map[string]string)
			for _, p := range m.pairs(r, n, id) {
				if _, there := documents[p.Key]; !there {
					r.Fatalf("%s is clean and there is no %s", row.Key, p.Key)
				}
				want[p.Key] = string(p.Body)
			}
			if got := has[store.Contributor{Input: input, Source: id}]; d.Name != "pages" && !maps.Equal(got, want) {
				r.Fatalf("%s is clean and contributes %q, want %q", row.Key, got, want)
			}
		}
	}
	for _, one := range documents {
		if !one.Dirty() {
			m.checkDocument(r, one, told)
		}
	}
}

// checkDocument compares a clean document with what is computed now, unless a document
// that it has read has changed and not told it yet.
func (m *derivedRun) checkDocument(r *rapid.T, d store.Document, told map[store.Key]bool) {
	n, _ := store.ParseCollection(d.Key.Collection)
	var view string
	var deleted bool
	if n.Name != "pages" {
		view, deleted = reduced(m.contributions(r, d.Key))
	} else {
		reads, err := m.b.Reads(background, d.Key)
		if err != nil {
			r.Fatalf("Reads: %v", err)
		}
		for _, read := range reads {
			n.Source = read.Key.Collection
			if row := m.load(r, mapped(n.String(), read.Key.ID)); row.Dirty() {
				return
			}
		}
		view, deleted = pageOf(d.Key.ID, func(k store.Key) []byte {
			if !m.forgotten[k] && !slices.ContainsFunc(reads, func(r store.Read) bool { return r.Key == k }) {
				r.Fatalf("%s is clean and has not read %s", d.Key, k)
			}
			return m.load(r, k).View
		})
	}
	if d.Deleted != deleted || !deleted && string(d.View) != view {
		r.Fatalf("%s is clean and has the view %q, deleted %t, want %q, %t", d.Key, d.View, d.Deleted, view, deleted)
	}
}

// checkForgotten looks for what is left of a document in what is recorded.
func (m *derivedRun) checkForgotten(r *rapid.T, k store.Key) {
	for _, d := range modelDerivations {
		input := slices.Index(d.Sources, k.Collection)
		if input < 0 {
			continue
		}
		names, _ := m.living(r, d.Name)
		for _, name := range names {
			if row := m.load(r, mapped(name+"<"+k.Collection, k.ID)); row.Head != 0 {
				r.Fatalf("%s was forgotten, and there is %+v", k, row)
			}
			for _, one := range collect(r, m.b.Scan(background, name, "", store.WithoutViews)) {
				reads, err := m.b.Reads(background, one.Key)
				if err != nil || slices.ContainsFunc(reads, func(read store.Read) bool { return read.Key == k }) {
					r.Fatalf("%s was forgotten, and %s has read %v, %v", k, one.Key, reads, err)
				}
				for _, c := range m.contributions(r, one.Key) {
					if c.Contributor == (store.Contributor{Input: input, Source: k.ID}) {
						r.Fatalf("%s was forgotten, and contributes to %s", k, one.Key)
					}
				}
			}
		}
	}
}

// settle fills and runs everything, after which nothing is dirty and check looks at all.
func (m *derivedRun) settle(r *rapid.T) {
	for range 1000 {
		for _, collection := range []string{"notes", "tasks", "tags", "pages", "sums"} {
			names, _ := m.living(r, collection)
			for _, name := range names {
				m.fill(r, name)
			}
		}
		m.resume(r)
		all := collect(r, m.b.Runnable(background, m.everything(r)))
		if len(all) == 0 {
			m.check(r)
			return
		}
		for _, one := range all {
			if m.load(r, one.Key).Dirty() {
				m.commit(r, m.run(r, one.Key, false))
			}
		}
	}
	r.Fatalf("runs make each other dirty without an end: %s", fmt.Sprint(collect(r, m.b.Runnable(background, m.everything(r)))))
}
