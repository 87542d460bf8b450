package sim

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// bad reports whether a function of the application fails with a state, until it is mended.
func (w *world) bad(s state, salt uint64) error {
	if n := w.opt.bad; n > 0 && !w.healed && (s.Sum>>20+salt)%uint64(n) == 0 { // #nosec G115 -- a few
		return materializer.Permanent(errBad)
	}
	return nil
}

// contribute is a map that emits the state to the keys that a version says.
func contribute[S any](p *process, name string, version int, source string, of func(S) state) func(id string, s S, emit func(string, state)) error {
	own := store.CollectionName{Name: name, Version: version, Source: source}.String()
	return func(id string, s S, emit func(string, state)) error {
		done, wrong := p.begins(store.Key{Collection: own, ID: id})
		defer done()
		if wrong != nil {
			return wrong
		}
		sum := of(s)
		if err := p.w.bad(sum, 1); err != nil {
			return err
		}
		for _, k := range keys(version, sum) {
			emit(k, sum)
		}
		return nil
	}
}

// compareParts is the order of parts.
func compareParts(a, b part) int { return cmp.Compare(a.From, b.From) }

// from names a contributor.
func from(by materializer.Contributor) string { return fmt.Sprintf("%d/%s", by.Input, by.Source) }

// byContributions describes sums or tops.
func (p *process) byContributions(name string, version int, sources ...materializer.Source[state]) materializer.Contributions[state, whole] {
	o := p.w.opt
	spec := materializer.Contributions[state, whole]{
		Name: name, Version: version, Sources: sources, MinInterval: o.interval, KeepFor: o.keepFor,
		Retry: materializer.Retry{Attempts: o.attempts, First: o.backoff, Cap: 2 * time.Second},
	}
	own := store.CollectionName{Name: name, Version: version}.String()
	if o.adds>>version&1 == 0 {
		spec.Reduce = func(id string, all iter.Seq2[materializer.Contributor, state]) (d whole, _ error) {
			done, wrong := p.begins(store.Key{Collection: own, ID: id})
			defer done()
			if wrong != nil {
				return whole{V: -1}, wrong
			}
			for by, s := range all {
				if err := p.w.bad(s, 2); err != nil {
					return d, err
				}
				d.Parts = append(d.Parts, part{from(by), &s})
			}
			d.V = version
			return d, nil
		}
		return spec
	}
	change := func(add bool) func(whole, materializer.Contributor, state) (whole, error) {
		return func(d whole, by materializer.Contributor, s state) (whole, error) {
			if p.dead.Load() || p.w.faults && p.w.c.oneIn(o.flaky) {
				return whole{V: -1}, errors.New("flaky")
			}
			if err := p.w.bad(s, 2); err != nil {
				return whole{V: -1}, err
			}
			d.V = version
			of := part{from(by), &s}
			i, has := slices.BinarySearchFunc(d.Parts, of, compareParts)
			switch {
			case add && has:
				return d, fmt.Errorf("%s is added twice", of.From)
			case add:
				d.Parts = slices.Insert(d.Parts, i, of)
			case !has || *d.Parts[i].S != s:
				return d, fmt.Errorf("%s is taken away, and is not there", of.From)
			default:
				d.Parts = slices.Delete(d.Parts, i, i+1)
			}
			return d, nil
		}
	}
	spec.Add, spec.Remove = change(true), change(false)
	return spec
}

// byReads describes cards.
func (p *process) byReads(version int) materializer.Reads[whole] {
	o := p.w.opt
	own := store.CollectionName{Name: cards, Version: version}
	concerns := own
	concerns.Source = collection
	return materializer.Reads[whole]{
		Name: cards, Version: version, MinInterval: o.interval, KeepFor: o.keepFor,
		Retry: materializer.Retry{Attempts: o.attempts, First: o.backoff, Cap: 2 * time.Second},
		Sources: []materializer.Concern{materializer.Concerns(p.docs, func(id string, _ state) []string {
			done, wrong := p.begins(store.Key{Collection: concerns.String(), ID: id})
			defer done()
			if wrong != nil {
				panic(wrong)
			}
			return []string{id}
		})},
		Build: func(r *materializer.Reader, id string) (d whole, _ error) {
			done, wrong := p.begins(store.Key{Collection: own.String(), ID: id})
			defer done()
			if wrong != nil {
				return d, wrong
			}
			s, err := materializer.Read(r, p.docs, id)
			switch {
			case absent(err):
				return d, materializer.Deleted
			case err != nil:
				return d, err
			}
			if err := p.w.bad(s, 3); err != nil {
				return d, err
			}
			d = whole{version, []part{{id, &s}}}
			to := link(version, s, o.docs)
			switch linked, err := materializer.Read(r, p.docs, to); {
			case absent(err):
				d.Parts = append(d.Parts, part{to, nil})
			case err != nil:
				return d, err
			default:
				d.Parts = append(d.Parts, part{to, &linked})
			}
			return d, nil
		},
	}
}

func absent(err error) bool {
	return errors.Is(err, materializer.ErrNotFound) || errors.Is(err, materializer.ErrDeleted)
}

// derive registers a derived collection.
func (p *process) derive(name string, version int) (err error) {
	var d *materializer.Derived[whole]
	switch name {
	case sums:
		d, err = materializer.ByContributions(p.m, p.byContributions(sums, version,
			materializer.From(p.docs, contribute(p, sums, version, collection, func(s state) state { return s }))))
	case cards:
		d, err = materializer.ByReads(p.m, p.byReads(version))
	case tops:
		var sources []materializer.Source[state]
		for _, source := range p.w.opt.kinds {
			if source != tops {
				sources = append(sources, materializer.From(p.derived[source], contribute(p, tops, version, source, whole.digest)))
			}
		}
		d, err = materializer.ByContributions(p.m, p.byContributions(tops, version, sources...))
	}
	if err == nil {
		p.derived[name] = d
	}
	return err
}
