package materializer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/refold-go/refold/store"
)

// sides are the contributions to a document by the functions that are registered and by those of a
// candidate.
type sides struct {
	old, new []store.Contribution
	size     int64
	large    bool // they are too many, and not here
}

// trialPage has the documents with the lowest ids behind one that have room together.
type trialPage struct {
	after string
	room  int64 // bytes
	size  int64 // of all sides
	sides map[string]*sides
	below string // what is too much, with all above; empty if nothing is
}

// ids returns those of the page, in order.
func (p *trialPage) ids() []string { return slices.Sorted(maps.Keys(p.sides)) }

// at returns the sides of a document, nil if it has no room.
func (p *trialPage) at(id string) *sides {
	if id <= p.after || p.below != "" && id >= p.below {
		return nil
	}
	s := p.sides[id]
	if s == nil {
		s = &sides{size: contributionSize + int64(len(id))}
		p.sides[id] = s
		p.size += s.size
	}
	return s
}

// add adds contributions of a source document to what they are for.
func (p *trialPage) add(by Contributor, pairs []store.Pair, to func(*sides) *[]store.Contribution) {
	for _, pair := range pairs {
		s := p.at(pair.Key)
		if s == nil {
			continue
		}
		if !s.large && pair.Body != nil {
			of := to(s)
			*of = append(*of, store.Contribution{Contributor: by, Body: pair.Body})
			size := contributionSize + int64(len(by.Source)+len(pair.Body))
			s.size, p.size = s.size+size, p.size+size
		}
		p.trim()
	}
}

// trim drops the highest ids if there are too many, down to half the room, so that it is seldom done. What
// has not room alone is made in another way.
func (p *trialPage) trim() {
	if p.size <= p.room {
		return
	}
	ids := p.ids()
	for n := len(ids) - 1; n > 0 && p.size > p.room/2; n-- {
		p.below = ids[n]
		p.size -= p.sides[ids[n]].size
		delete(p.sides, ids[n])
	}
	if s := p.sides[ids[0]]; p.size > p.room && !s.large {
		*s = sides{size: contributionSize + int64(len(ids[0])), large: true}
		p.size = s.size
	}
}

// collect maps all sources, and adds the documents that are there of a collection that is made by
// reads. Sources that only one of the two can map are told of if that is asked for.
func (t *trial[V, V2]) collect(ctx context.Context, p *trialPage, tell bool) error {
	m := t.old.c.m
	if t.old.touch {
		for doc, err := range m.st.Scan(ctx, t.old.c.spec.Name, p.after, store.WithoutViews) {
			if err != nil {
				return err
			}
			if !t.chosen(doc.Key.ID) {
				continue
			}
			if p.at(doc.Key.ID) == nil {
				break
			}
			p.trim()
		}
	}
	var names []string
	for _, s := range slices.Concat(t.new.sources, t.old.sources) {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	for _, name := range names {
		for doc, err := range m.st.Scan(ctx, name, "", store.WithViews) {
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			if doc.Applied > 0 && !doc.Deleted {
				t.mapBoth(p, doc, name, tell)
			}
		}
	}
	// Each side in the order of its own sources.
	for _, s := range p.sides {
		slices.SortFunc(s.old, compareContributions)
		slices.SortFunc(s.new, compareContributions)
	}
	return nil
}

func compareContributions(a, b store.Contribution) int {
	return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(a.Source, b.Source))
}

// mapBoth maps a source document with both, and adds what they give.
func (t *trial[V, V2]) mapBoth(p *trialPage, doc store.Document, name string, tell bool) {
	was, i, one := given(t.old, doc, name, t.chosen)
	is, j, other := given(t.new, doc, name, t.chosen)
	_, unreadable := errors.AsType[*unreadableError](join(one, other))
	switch {
	case unreadable, one != nil && other != nil:
	case other != nil && tell:
		t.found(Difference{Kind: Failing, Err: other, Sources: []Key{{Collection: name, ID: doc.Key.ID}}})
	case one != nil && tell:
		t.found(Difference{Kind: Mended, Err: one, Sources: []Key{{Collection: name, ID: doc.Key.ID}}})
	case one == nil && other == nil:
		p.add(Contributor{Input: i, Source: doc.Key.ID}, was, func(s *sides) *[]store.Contribution { return &s.old })
		p.add(Contributor{Input: j, Source: doc.Key.ID}, is, func(s *sides) *[]store.Contribution { return &s.new })
	}
}

// given returns what a source document gives to documents that are chosen; input is the place of its
// collection among the sources. Without such a place it gives nothing.
func given[V any](d *Derived[V], doc store.Document, name string, chosen func(string) bool) (pairs []store.Pair, input int, err error) {
	input = slices.IndexFunc(d.sources, func(s origin) bool { return s.name == name })
	if input < 0 {
		return nil, 0, nil
	}
	seen := make(map[string]bool)
	err = d.pairs(input, doc, func(key string, body []byte) error {
		to := d.c.key(key)
		if err := checkPair(to, body); err != nil {
			return err
		}
		if seen[key] && !d.touch {
			return twice(to)
		}
		seen[key] = true
		if chosen(key) {
			if !d.touch && body == nil {
				body = []byte{}
			}
			pairs = append(pairs, store.Pair{Key: key, Body: body})
		}
		return nil
	})
	return pairs, input, err
}

// mapAgain returns a page of contributions to a document, mapped from the sources behind a
// contributor.
type mapAgain func(ctx context.Context, id string, after Contributor) ([]store.Contribution, error)

func (t *trial[V, V2]) mapOld(ctx context.Context, id string, after Contributor) ([]store.Contribution, error) {
	return mapPage(ctx, t.old, t.new, id, after)
}

func (t *trial[V, V2]) mapNew(ctx context.Context, id string, after Contributor) ([]store.Contribution, error) {
	return mapPage(ctx, t.new, t.old, id, after)
}

// mapPage is mapAgain for one side. What the other one cannot map is left out.
func mapPage[V, V2 any](ctx context.Context, d *Derived[V], other *Derived[V2], id string, after Contributor) (page []store.Contribution, err error) {
	size, is := int64(0), func(key string) bool { return key == id }
	for input := after.Input; input < len(d.sources); input++ {
		from := ""
		if input == after.Input {
			from = after.Source
		}
		name := d.sources[input].name
		for doc, err := range d.c.m.st.Scan(ctx, name, from, store.WithViews) {
			if err == nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				return nil, err
			}
			if doc.Applied == 0 || doc.Deleted {
				continue
			}
			pairs, _, failed := given(d, doc, name, is)
			if failed != nil || len(pairs) == 0 {
				continue
			}
			if _, _, failed := given(other, doc, name, is); failed != nil {
				continue
			}
			page = append(page, store.Contribution{Contributor: Contributor{Input: input, Source: doc.Key.ID}, Body: pairs[0].Body})
			if size += contributionSize + int64(len(doc.Key.ID)+len(pairs[0].Body)); len(page) == contributionsAtOnce || size > mostRoom {
				return page, nil
			}
		}
	}
	return page, nil
}

// contributors returns the first source documents that give a document something else with the candidate, or
// the first ones that give it anything if none does. Of a document that has too many, only the first page
// is looked at.
func (t *trial[V, V2]) contributors(ctx context.Context, id string, s *sides) ([]Key, error) {
	if s.large {
		s = new(sides)
		var err, err2 error
		s.old, err = t.mapOld(ctx, id, Contributor{})
		s.new, err2 = t.mapNew(ctx, id, Contributor{})
		if err := join(err, err2); err != nil {
			return nil, err
		}
	}
	was, is := make(map[Key][]byte), make(map[Key][]byte)
	order := func(all []store.Contribution, sources []origin, of map[Key][]byte) (keys []Key) {
		for _, c := range all {
			k := Key{Collection: sources[c.Input].name, ID: c.Source}
			of[k] = c.Body
			keys = append(keys, k)
		}
		return keys
	}
	all := append(order(s.new, t.new.sources, is), order(s.old, t.old.sources, was)...)
	var differ, any []Key
	seen := make(map[Key]bool)
	for _, k := range all {
		if seen[k] {
			continue
		}
		seen[k] = true
		a, had := was[k]
		b, has := is[k]
		if len(any) < mostSources {
			any = append(any, k)
		}
		if (had != has || !bytes.Equal(a, b)) && len(differ) < mostSources {
			differ = append(differ, k)
		}
	}
	if len(differ) > 0 {
		return differ, nil
	}
	return any, nil
}
