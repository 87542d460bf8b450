package materializer

import (
	"bytes"
	"context"
	"errors"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// WrongContribution means that a derived document has a contribution that the view of its source does
// not give, or another one than it gives, or lacks one; or, of one that is made by reads, that it is not
// there although a source concerns it. Sources has the source documents.
const WrongContribution DifferenceKind = "wrong contribution"

const (
	// sourcesAtOnce is how many views of sources are loaded at once, and mostSources how many are
	// named in a difference.
	sourcesAtOnce = 64
	mostSources   = 10
)

// checkMapped maps the sources of all contributions to a document anew, page by page, and returns what
// differs, nil if nothing does. The document was loaded before.
func (d *Derived[V]) checkMapped(ctx context.Context, doc *store.Document) (*Difference, error) {
	if d.touch {
		return nil, nil
	}
	var wrong []Key
	var failed error
	for after := (Contributor{}); len(wrong) < mostSources; {
		page, err := d.c.m.st.Contributions(ctx, doc.Key, after, store.Budget{Operations: sourcesAtOnce, Bytes: mostRoom})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		sources := make([]store.Key, len(page))
		for i := range page {
			if page[i].Input >= len(d.sources) {
				return nil, nil // another version is served
			}
			sources[i] = Key{Collection: d.sources[page[i].Input].name, ID: page[i].Source}
		}
		loaded, err := d.c.m.st.Load(ctx, sources, store.WithViews)
		if err != nil {
			return nil, err
		}
		for i := range page {
			same, fails, err := d.gives(page[i], doc.Key.ID, loaded[i])
			if same {
				continue
			}
			if err == nil {
				var settled bool
				if settled, err = d.settled(ctx, sources[i], &loaded[i], nil); err == nil && settled {
					wrong, failed = append(wrong, sources[i]), join(failed, fails)
				}
			}
			if err != nil {
				return nil, err
			}
		}
		after = page[len(page)-1].Contributor
	}
	if len(wrong) == 0 {
		return nil, nil
	}
	kind := WrongContribution
	if failed != nil {
		kind = Failing
	}
	return &Difference{ID: doc.Key.ID, Applied: doc.Applied, Seq: doc.Applied, Kind: kind, Err: failed, Sources: wrong}, nil
}

// gives reports whether the view of a source gives a contribution to a document; fails is why its map
// fails.
func (d *Derived[V]) gives(c store.Contribution, id string, source store.Document) (same bool, fails, err error) {
	if source.Applied == 0 || source.Deleted {
		return false, nil, nil
	}
	fails = d.pairs(c.Input, source, func(key string, body []byte) error {
		same = same || key == id && bytes.Equal(body, c.Body)
		return nil
	})
	if _, unreadable := errors.AsType[*unreadableError](fails); unreadable {
		return true, nil, nil // it waits for another program
	}
	return same && fails == nil, fails, nil
}

// pairs maps the view of a source, guarded.
func (d *Derived[V]) pairs(input int, source store.Document, emit func(key string, body []byte) error) error {
	return worker.Guard(func() error { return d.maps[input](source, emit) })
}

// settled reports whether all that the view of a source gives has been told since it was loaded: its
// row of the mapping is clean, before and after again was called, and the view is the same.
func (d *Derived[V]) settled(ctx context.Context, source Key, loaded *store.Document, again func() error) (bool, error) {
	row := store.Key{Collection: d.mapping(source.Collection), ID: source.ID}
	var heads [2]int64
	for i := range heads {
		docs, err := d.c.m.st.Load(ctx, []store.Key{row, source}, store.WithoutViews)
		if err != nil {
			return false, err
		}
		now := &docs[1]
		if docs[0].Dirty() || now.Changed != loaded.Changed || now.Version != loaded.Version || now.Applied != loaded.Applied {
			return false, nil
		}
		if heads[i] = docs[0].Head; i == 0 && again != nil {
			if err := again(); err != nil {
				return false, err
			}
		}
	}
	if heads[0] != heads[1] {
		return false, nil
	}
	return d.c.m.filled(ctx, d.c.spec.Name)
}

// verifyMissing calls found for each document that lacks what a source gives it, or that is not there
// although a source concerns it. It maps all sources, one document after the other, and looks at
// what they give as they give it.
func (d *Derived[V]) verifyMissing(ctx context.Context, found func(Difference)) error {
	for input, s := range d.sources {
		for source, err := range d.c.m.st.Scan(ctx, s.name, "", store.WithViews) {
			if err != nil {
				return err
			}
			if source.Applied == 0 || source.Deleted {
				continue
			}
			if err := d.verifyGiven(ctx, input, source, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyGiven is verifyMissing for one source document.
func (d *Derived[V]) verifyGiven(ctx context.Context, input int, source store.Document, found func(Difference)) error {
	by := Contributor{Input: input, Source: source.Key.ID}
	var trouble error
	err := d.pairs(input, source, func(id string, _ []byte) error {
		key := d.c.key(id)
		if trouble != nil || store.CheckKey(key) != nil {
			return trouble
		}
		has := false
		look := func() (err error) {
			has, err = d.has(ctx, key, by)
			return err
		}
		if trouble = look(); has || trouble != nil {
			return trouble
		}
		var settled bool
		if settled, trouble = d.settled(ctx, source.Key, &source, look); trouble == nil && settled && !has {
			found(Difference{ID: id, Kind: WrongContribution, Sources: []Key{source.Key}})
		}
		return trouble
	})
	if trouble != nil {
		return trouble
	}
	if err != nil {
		return context.Cause(ctx) // its row is parked, or will be
	}
	return nil
}

// has reports whether somebody contributes to a document, or, if contributions are not kept, whether
// there is the document.
func (d *Derived[V]) has(ctx context.Context, key Key, by Contributor) (bool, error) {
	if d.touch {
		docs, err := d.c.m.st.Load(ctx, []store.Key{key}, store.WithoutViews)
		return err == nil && docs[0].Head > 0, err
	}
	page, err := d.c.m.st.Contributions(ctx, key, before(by), store.Budget{Operations: 1, Bytes: 1})
	return err == nil && len(page) == 1 && page[0].Contributor == by, err
}

// before returns what is behind all that is before a contributor: no id has the byte 0xff, which is none
// of UTF-8.
func before(by Contributor) Contributor {
	last := len(by.Source) - 1
	head := by.Source[:last]
	if b := by.Source[last]; b > 0 {
		head += string([]byte{b - 1, 0xff})
	}
	by.Source = head
	return by
}
