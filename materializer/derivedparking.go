package materializer

import (
	"context"
	"iter"
	"slices"

	"github.com/refold-go/refold/store"
)

// Parked returns what is parked: the derived documents that could not be made, and then the
// documents of each source, with Source set, of which it could not be found out
// what they do to the collection. Of a source that is parked itself the last good view counts,
// and it is not among them.
func (d *Derived[V]) Parked(ctx context.Context) iter.Seq2[ParkedDocument, error] {
	return func(yield func(ParkedDocument, error) bool) {
		for p, err := range d.c.Parked(ctx) {
			if !yield(p, err) || err != nil {
				return
			}
		}
		for _, s := range d.sources {
			names, err := d.mappings(ctx, s.name)
			if err != nil {
				yield(ParkedDocument{}, err)
				return
			}
			for p, err := range d.c.parkedIn(ctx, names) {
				if p.Source = s.name; !yield(p, err) || err != nil {
					return
				}
			}
		}
	}
}

// mappings returns the names of the mapping from a source: that of the generation that is
// served, and that of the collection's own.
func (d *Derived[V]) mappings(ctx context.Context, source string) ([]string, error) {
	names, err := d.c.servedAndOwn(ctx)
	for i := range names {
		names[i] += "<" + source
	}
	return names, err
}

// Resume lets parked derived documents be made again, as [Collection.Resume] does.
func (d *Derived[V]) Resume(ctx context.Context, ids ...string) (int, error) {
	return d.c.Resume(ctx, ids...)
}

// ResumeSource does the same for documents of a source, given by the name of its collection, of which it could
// not be found out what they do to this one.
func (d *Derived[V]) ResumeSource(ctx context.Context, source string, ids ...string) (int, error) {
	names, err := d.mappings(ctx, source)
	if err != nil {
		return 0, err
	}
	keys := make([]store.Key, 0, len(names)*len(ids))
	for _, name := range names {
		for _, id := range ids {
			keys = append(keys, store.Key{Collection: name, ID: id})
		}
	}
	return d.c.m.st.Resume(ctx, keys)
}

// ResumeAll resumes all that [Derived.Parked] returns, some at a time. It returns how many
// they were, also with an error; calling it again goes on.
func (d *Derived[V]) ResumeAll(ctx context.Context) (int, error) {
	resumed, err := d.c.ResumeAll(ctx)
	for _, s := range d.sources {
		if err != nil {
			break
		}
		var names []string
		if names, err = d.mappings(ctx, s.name); err != nil {
			break
		}
		var ids []string
		for p, err2 := range d.c.parkedIn(ctx, names) {
			if err = err2; err != nil {
				break
			}
			ids = append(ids, p.ID)
		}
		for some := range slices.Chunk(ids, resumeAtOnce) {
			n, err2 := d.ResumeSource(ctx, s.name, some...)
			if resumed += n; err == nil {
				err = err2
			}
		}
	}
	return resumed, err
}
