package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
)

var _ store.Deriver = (*Store)(nil)

// Derive implements [store.Deriver].
func (s *Store) Derive(ctx context.Context, d store.Derivation) error {
	if err := store.CheckDerivation(d); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return err
	}
	c := s.collections[d.Name]
	if c != nil && !c.derived {
		return &store.InvalidError{Field: "derived collection", Got: d.Name + ", which has operations of its own", Want: "one that has none"}
	}
	for _, source := range d.Sources {
		if s.collections[source] == nil {
			return fmt.Errorf("%w: collection %q, a source of %q", store.ErrNotFound, source, d.Name)
		}
		if path := s.pathLocked(source, d.Name); path != nil {
			return &store.CycleError{Path: append([]string{d.Name}, path...)}
		}
	}
	if c == nil {
		s.deriveFirstLocked(d)
	} else if err := s.deriveNextLocked(c, d); err != nil {
		return err
	}
	s.relinkLocked()
	return nil
}

// deriveFirstLocked makes the collection.
func (s *Store) deriveFirstLocked(d store.Derivation) {
	c := &collection{derived: true}
	s.collections[d.Name] = c
	if !slices.ContainsFunc(d.Sources, func(source string) bool { return len(s.collections[source].documents) > 0 }) {
		c.generation = s.newDerivedLocked(d, store.Serving)
		return
	}
	c.generation = newGeneration(0, store.Serving, s.dropped)
	c.generation.derived = &derivation{name: d.Name}
	c.building = s.newDerivedLocked(d, store.Building)
	c.building.started = c.building.derived.mappings[0].mark.Time
}

// deriveNextLocked is registerLocked of a derived collection.
func (s *Store) deriveNextLocked(c *collection, d store.Derivation) error {
	if g := c.ofVersion(d.Version); g != nil {
		sources := g.sources()
		if g.derived.deltas != d.Deltas || !slices.Equal(sources, d.Sources) {
			return &store.InvalidError{
				Field: fmt.Sprintf("version %d of %s", d.Version, d.Name),
				Got:   fmt.Sprintf("sources %q and deltas %t", d.Sources, d.Deltas),
				Want:  fmt.Sprintf("%q and %t, as it was registered", sources, g.derived.deltas),
			}
		}
		return nil
	}
	stored := c.version
	if c.building != nil {
		stored = max(stored, c.building.version)
	}
	if d.Version < stored {
		return &store.VersionError{Collection: d.Name, Stored: stored, Registered: d.Version}
	}
	c.building = s.newDerivedLocked(d, store.Building)
	c.building.started = c.building.derived.mappings[0].mark.Time
	return nil
}

// pathLocked returns a way from a collection to another that it is made of, nil if there
// is none.
func (s *Store) pathLocked(from, to string) []string {
	if from == to {
		return []string{to}
	}
	for _, g := range s.collections[from].living() {
		if g.derived == nil {
			continue
		}
		for _, m := range g.derived.mappings {
			if path := s.pathLocked(m.source, to); path != nil {
				return append([]string{from}, path...)
			}
		}
	}
	return nil
}

// contributor is the order of contributions.
type contributor store.Contributor

func (a contributor) compare(b contributor) int {
	return cmp.Or(cmp.Compare(a.Input, b.Input), cmp.Compare(a.Source, b.Source))
}

// Contributions implements [store.Deriver].
func (s *Store) Contributions(ctx context.Context, key store.Key, after store.Contributor, budget store.Budget) ([]store.Contribution, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	_, d := s.namedLocked(key)
	if d == nil || d.made == nil {
		return nil, nil
	}
	var all []store.Contribution
	size := int64(0)
	for _, c := range d.made.contributions.after(contributor(after), int(d.made.count), nil) {
		size += int64(len(c.Body))
		if len(all) > 0 && (budget.Operations > 0 && len(all) == budget.Operations || budget.Bytes > 0 && size > budget.Bytes) {
			break
		}
		all = append(all, store.Contribution{Contributor: c.Contributor, Body: append([]byte{}, c.Body...)})
	}
	return all, nil
}

// Reads implements [store.Deriver].
func (s *Store) Reads(ctx context.Context, key store.Key) ([]store.Read, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	_, d := s.namedLocked(key)
	if d == nil || d.made == nil {
		return nil, nil
	}
	return slices.Clone(d.made.reads), nil
}
