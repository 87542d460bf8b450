package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/refold-go/refold/store"
)

// CheckDerived implements [store.DerivedChecker].
func (s *Store) CheckDerived(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return err
	}
	var found []error
	for _, name := range slices.Sorted(maps.Keys(s.collections)) {
		for _, g := range s.collections[name].living() {
			if g.derived == nil {
				continue
			}
			for _, d := range g.documents {
				found = append(found, s.checkMadeLocked(g, d), checkDeltas(d))
			}
			for read, readers := range g.derived.readers {
				readers.all(func(d *document) {
					if g.documents[d.key.ID] != d || !slices.ContainsFunc(d.made.reads, func(r store.Read) bool { return r.Key == read }) {
						found = append(found, damaged("%s is a reader of %s, and has not read it", d.key, read))
					}
				})
			}
			for _, m := range g.derived.mappings {
				for _, row := range m.documents {
					found = append(found, m.checkRow(row), checkDeltas(row))
				}
			}
		}
		if err := errors.Join(found...); err != nil {
			return err
		}
	}
	return nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{store.ErrDamaged}, args...)...)
}

// checkMadeLocked checks what contributes to a document and what it has read.
func (s *Store) checkMadeLocked(g *generation, d *document) (err error) {
	n := int64(0)
	d.made.contributions.all(func(c *store.Contribution) {
		n++
		if c.Input < 0 || c.Input >= len(g.derived.mappings) {
			err = damaged("the contribution of %s to %s is of no source", c.Source, d.key)
			return
		}
		m := g.derived.mappings[c.Input]
		row := m.documents[c.Source]
		if row == nil {
			err = damaged("the contribution of %s to %s is of no document of the mapping", c.Source, d.key)
			return
		}
		if to, yes := row.made.keys.get(text(d.key.ID)); !yes || to != d {
			err = damaged("the contribution of %s to %s is not where it belongs", c.Source, d.key)
		}
		source := s.documentLocked(store.Key{Collection: m.source, ID: c.Source})
		if (source == nil || source.applied == 0 || source.deleted) && !row.dirty() && m.filled >= m.toFill {
			err = damaged("the source %s of the contribution to %s has no view, and nothing is to be mapped", c.Source, d.key)
		}
	})
	if n != d.made.count {
		return damaged("%s has %d contributions, and says %d", d.key, n, d.made.count)
	}
	for _, r := range d.made.reads {
		readers := g.derived.readers[r.Key]
		if readers == nil || g.from(r.Key.Collection) == nil || r.Version > s.changes || d.applied == 0 {
			return damaged("what %s has read of %s cannot be so", d.key, r.Key)
		}
		if by, yes := readers.get(text(d.key.ID)); !yes || by != d {
			return damaged("%s has read %s, and is none of its readers", d.key, r.Key)
		}
	}
	return err
}

// checkDeltas checks those of a derived document, or of one of a mapping: those that it lacks are
// there, up to its head, though one may stand for some before it.
func checkDeltas(d *document) error {
	last := d.applied
	for i := range d.operations {
		if d.operations[i].Seq <= last {
			return damaged("the deltas of %s are not those that it lacks", d.key)
		}
		last = d.operations[i].Seq
	}
	if last != d.head() {
		return damaged("the deltas of %s are not those that it lacks: they end at %d of %d", d.key, last, d.head())
	}
	return nil
}

// checkRow checks to what a document of a mapping contributes, and its round.
func (m *mapping) checkRow(row *document) (err error) {
	row.made.keys.all(func(d *document) {
		if _, yes := d.made.contributions.get(contributor{Input: m.input, Source: row.key.ID}); !yes || m.feeds.documents[d.key.ID] != d {
			err = damaged("%s has %s for one to which it contributes", row.key, d.key)
		}
	})
	if r := row.made.round; r != (store.Round{}) && (r.To <= row.applied || r.To > row.head()) {
		return damaged("the round of %s is up to %d, of %d to %d", row.key, r.To, row.applied, row.head())
	}
	return err
}
