package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// derivedNames returns a generation of a derived collection and the mappings that feed it.
func (w *world) derivedNames(name string, version int) []string {
	c := w.sh.model.collections[name]
	if c == nil || version == 0 {
		return nil
	}
	own := store.CollectionName{Name: name, Version: version}
	names := []string{own.String()}
	for _, own.Source = range c.sources[version] {
		names = append(names, own.String())
	}
	return names
}

// each calls f with each version that lives of each derived collection.
func (w *world) each(f func(name string, version int, names []string)) {
	for _, name := range w.opt.kinds {
		if c := w.sh.model.collections[name]; c != nil {
			for _, version := range c.living() {
				f(name, version, w.derivedNames(name, version))
			}
		}
	}
}

// allMade reports whether what was released last is served of everything, and all of it made.
func (w *world) allMade() bool {
	if !w.opt.derived {
		return true
	}
	for name, version := range w.released {
		if c := w.sh.model.collections[name]; version > 0 && (c == nil || c.served != version || !w.filled(name, version)) {
			return false
		}
	}
	made := true
	w.each(func(name string, version int, names []string) {
		if version != w.released[name] {
			return
		}
		for _, of := range names {
			n := w.count(of)
			made = made && n.Dirty+n.Parked == 0
		}
	})
	return made
}

func (w *world) count(name string) store.Counts {
	n, err := w.sh.inner.Count(context.Background(), name)
	if err != nil {
		w.fail("counting %s: %v", name, err)
	}
	return n
}

// filled reports whether a generation has all its rows.
func (w *world) filled(name string, version int) bool {
	all, err := w.sh.inner.Generations(context.Background(), name)
	if err != nil {
		w.fail("reading the generations of %s: %v", name, err)
	}
	return slices.ContainsFunc(all, func(g store.Generation) bool { return g.Version == version && g.Filled })
}

// anyParked reports whether a document of the newest version of the plain collection is parked,
// or of the one that is served.
func (w *world) anyParked() bool {
	for _, d := range w.sh.model.docs {
		if !d.made && d.parked {
			return true
		}
	}
	return false
}

// resumeMade resumes what is parked of derived collections.
func (w *world) resumeMade(ctx context.Context, p *process) {
	w.each(func(name string, version int, names []string) {
		for _, of := range names {
			if d := p.derived[name]; d != nil && w.count(of).Parked > 0 {
				if _, err := d.ResumeAll(ctx); err != nil {
					w.fail("resuming %s: %v", name, err)
				}
				return
			}
		}
	})
}

// views returns the views of a collection that is served, but for deleted ones.
func (w *world) views(name string) map[string][]byte {
	all := make(map[string][]byte)
	for doc, err := range w.sh.inner.Scan(context.Background(), name, "", store.WithViews) {
		if err != nil {
			w.fail("reading %s: %v", name, err)
			break
		}
		if doc.Applied > 0 && !doc.Deleted {
			all[doc.Key.ID] = doc.View
		}
	}
	return all
}

// checkFromScratch compares all derived documents with what a computation over all operations
// gives, and checks that there is nothing left to do.
func (w *world) checkFromScratch() {
	if !w.opt.derived || w.err != nil {
		return
	}
	want := w.fromScratch()
	for name, version := range w.released {
		if version == 0 {
			continue
		}
		got := w.views(name)
		if name == collection {
			continue // that is compared with the model already
		}
		for id, d := range want[name] {
			if b, _ := json.Marshal(d); string(b) != string(got[id]) {
				w.fail("%s/%s is %q, want %s", name, id, got[id], b)
			}
			delete(got, id)
		}
		for id, view := range got {
			w.fail("%s/%s is %s, want nothing", name, id, view)
		}
	}
	w.each(func(name string, version int, names []string) {
		if version != w.released[name] {
			return
		}
		for _, of := range names {
			if n := w.count(of); n.Dirty+n.Parked > 0 {
				w.fail("%s has %d documents dirty and %d parked in the end", of, n.Dirty, n.Parked)
			}
		}
	})
}

// fromScratch computes all derived documents of the versions that were released last.
func (w *world) fromScratch() map[string]map[string]whole {
	docs := make(map[string]state)
	for id, c := range w.sh.model.contents {
		if n := int64(len(c.ops)); n > 0 && !c.gone(n) {
			docs[id] = c.state(w.released[collection], n)
		}
	}
	made := map[string]map[string]whole{sums: {}, cards: {}, tops: {}}
	give := func(to string, input int, id string, s state) {
		version := w.released[to]
		for _, k := range keys(version, s) {
			d := made[to][k]
			d.V, d.Parts = version, append(d.Parts, part{fmt.Sprintf("%d/%s", input, id), &s})
			made[to][k] = d
		}
	}
	if version := w.released[sums]; version > 0 {
		for id, s := range docs {
			give(sums, 0, id, s)
		}
	}
	if version := w.released[cards]; version > 0 {
		for id, s := range docs {
			made[cards][id] = card(version, id, s, w.opt.docs, func(id string) (state, bool) { s, ok := docs[id]; return s, ok })
		}
	}
	sortParts(made[sums])
	if version := w.released[tops]; version > 0 {
		for input, source := range w.opt.kinds[:len(w.opt.kinds)-1] {
			for id, d := range made[source] {
				give(tops, input, id, d.digest())
			}
		}
	}
	sortParts(made[tops])
	return made
}

// card is what cards has of a document.
func card(version int, id string, s state, docs int, linked func(string) (state, bool)) whole {
	d := whole{version, []part{{id, &s}}}
	to := link(version, s, docs)
	if l, ok := linked(to); ok {
		d.Parts = append(d.Parts, part{to, &l})
	} else {
		d.Parts = append(d.Parts, part{to, nil})
	}
	return d
}

func sortParts(all map[string]whole) {
	for _, d := range all {
		slices.SortFunc(d.Parts, compareParts)
	}
}

// checkMade checks a row that is made from others, or of a mapping, after it was written.
func (w *world) checkMade(d *modelDoc) {
	sh, doc := w.sh, w.sh.load(d.key)
	if !d.exists || doc.Head == 0 {
		return
	}
	switch {
	case doc.Applied > doc.Head:
		w.fail("%s is applied up to %d of %d", d.key, doc.Applied, doc.Head)
	case doc.Applied != d.applied:
		w.fail("%s is applied up to %d, want %d", d.key, doc.Applied, d.applied)
	case doc.Epoch != d.epoch:
		w.fail("epoch of %s is %d, want %d", d.key, doc.Epoch, d.epoch)
	case doc.Lease.Holder != d.lease.holder || doc.Lease.Left > 0 != d.lease.held():
		w.fail("%s is leased by %q for %v, want %q until %v", d.key, doc.Lease.Holder, doc.Lease.Left, d.lease.holder, d.lease.until)
	case doc.Parked() != d.parked:
		w.fail("%s is parked: %t, want %t", d.key, doc.Parked(), d.parked)
	case doc.Dirty(), doc.Parked():
	case strings.Contains(d.key.Collection, "<"):
		sh.checkContributed(d)
	default:
		sh.checkClean(d, &doc)
	}
}

// source returns a document as what is made of it reads it: not there if it is deleted.
func (sh *shared) source(name, id string) (store.Document, bool) {
	doc := sh.load(store.Key{Collection: name, ID: id})
	return doc, doc.Applied > 0 && !doc.Deleted
}

// stateIn returns the state of a source's document as it is contributed.
func stateIn(doc *store.Document) (s state) {
	if store.BareName(doc.Key.Collection) == collection {
		_ = json.Unmarshal(doc.View, &s)
		return s
	}
	var d whole
	_ = json.Unmarshal(doc.View, &d)
	return d.digest()
}

// checkContributed checks that a source which has nothing more to tell contributes what its
// view says.
func (sh *shared) checkContributed(d *modelDoc) {
	n := sh.model.generation(d.key.Collection)
	if n.Name == cards || !sh.w.filled(n.Name, n.Version) {
		return
	}
	input := slices.Index(sh.model.collections[n.Name].sources[n.Version], n.Source)
	want := make(map[string]bool)
	doc, there := sh.source(n.Source, d.key.ID)
	s := stateIn(&doc)
	if there {
		for _, k := range keys(n.Version, s) {
			want[k] = true
		}
	}
	for _, k := range []string{"all", "k0", "k1", "k2"} {
		c, has := sh.contribution(n, k, input, d.key.ID)
		if has != want[k] || has && c != s {
			sh.w.fail("%s has told all, and contributes %+v to %s: %t, want %+v: %t", d.key, c, k, has, s, want[k])
		}
	}
}

// contribution returns what a source contributes to a document.
func (sh *shared) contribution(n store.CollectionName, id string, input int, source string) (s state, has bool) {
	n.Source = ""
	for _, c := range sh.contributions(store.Key{Collection: n.String(), ID: id}) {
		if c.Input == input && c.Source == source {
			_ = json.Unmarshal(c.Body, &s)
			return s, true
		}
	}
	return s, false
}

func (sh *shared) contributions(k store.Key) []store.Contribution {
	all, err := sh.inner.Contributions(context.Background(), k, store.Contributor{}, store.Budget{})
	if err != nil {
		sh.w.fail("reading the contributions to %s: %v", k, err)
	}
	return all
}

// checkClean checks that a derived document to which nothing was told that it lacks is what is
// made of what is recorded for it.
func (sh *shared) checkClean(d *modelDoc, doc *store.Document) {
	n := sh.model.generation(d.key.Collection)
	var want whole
	if n.Name != cards {
		for _, c := range sh.contributions(d.key) {
			var s state
			_ = json.Unmarshal(c.Body, &s)
			want.V = n.Version
			want.Parts = append(want.Parts, part{from(materializer.Contributor{Input: c.Input, Source: c.Source}), &s})
		}
	} else {
		if !sh.w.filled(n.Name, n.Version) {
			return
		}
		own, there := sh.source(collection, d.key.ID)
		if there {
			want = card(n.Version, d.key.ID, stateIn(&own), sh.w.opt.docs, func(id string) (state, bool) {
				linked, there := sh.source(collection, id)
				return stateIn(&linked), there
			})
		}
		for _, id := range []string{d.key.ID, link(n.Version, stateIn(&own), sh.w.opt.docs)} {
			n.Source = collection
			told := sh.load(store.Key{Collection: n.String(), ID: id})
			if told.Dirty() {
				return // it will be told
			}
		}
	}
	b, _ := json.Marshal(want)
	if want.Parts == nil != doc.Deleted || want.Parts != nil && string(b) != string(doc.View) {
		sh.w.fail("%s lacks nothing and is %s, deleted %t, want %s", d.key, doc.View, doc.Deleted, b)
	}
}
