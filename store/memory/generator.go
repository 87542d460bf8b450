package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

var _ store.Generator = (*Store)(nil)

// registerLocked is Register with good input.
func (s *Store) registerLocked(name string, version int) error {
	c := s.collectionLocked(name)
	if c.version == 0 {
		c.version = version
		return nil
	}
	if c.ofVersion(version) != nil {
		return nil
	}
	stored := c.version
	if c.building != nil {
		stored = max(stored, c.building.version)
	}
	if version < stored {
		return &store.VersionError{Collection: name, Stored: stored, Registered: version}
	}
	s.changes++
	c.building = newGeneration(version, store.Building, s.changes)
	c.building.toFill, c.building.started = len(c.contents), time.Now().UTC().Round(0)
	return nil
}

// Generations implements [store.Generator].
func (s *Store) Generations(ctx context.Context, name string) ([]store.Generation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	c := s.collections[name]
	if c == nil {
		return nil, nil
	}
	var all []store.Generation
	for _, g := range c.living() {
		all = append(all, store.Generation{
			Version: g.version, State: g.state, Filled: true, Started: g.started, Until: g.until,
		})
		told := &all[len(all)-1]
		for _, f := range g.filling() {
			told.Filled = told.Filled && f.filled == f.toFill
			told.Scanned += int64(f.filled)
			told.ToScan += int64(f.toFill)
			told.Made += int64(f.made)
		}
	}
	slices.SortFunc(all, func(a, b store.Generation) int { return cmp.Compare(a.Version, b.Version) })
	return all, nil
}

// writeGeneration calls f with a generation that lives, by its name with the version.
func (s *Store) writeGeneration(ctx context.Context, name string, f func(*collection, *generation) error) error {
	n, err := store.ParseGeneration(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return err
	}
	c, g := s.generationLocked(n.String())
	if g == nil {
		return fmt.Errorf("%w: generation %s", store.ErrNotFound, name)
	}
	return f(c, g)
}

// writeCollection calls f with a collection, by its name.
func (s *Store) writeCollection(ctx context.Context, name string, f func(*collection) error) error {
	if err := store.CheckBare(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return err
	}
	c := s.collections[name]
	if c == nil {
		return fmt.Errorf("%w: collection %q", store.ErrNotFound, name)
	}
	return f(c)
}

// Fill implements [store.Generator].
func (s *Store) Fill(ctx context.Context, name string) (more bool, err error) {
	err = s.writeGeneration(ctx, name, func(c *collection, g *generation) error {
		if g.derived != nil {
			more = s.fillDerivedLocked(g)
			return nil
		}
		end := min(g.filled+pageSize, g.toFill)
		for _, one := range c.contents[g.filled:end] {
			if one != nil && g.documents[one.key.ID] == nil {
				g.enterLocked(g.add(one))
				g.made++
			}
		}
		g.filled = end
		more = g.filled < g.toFill
		return nil
	})
	return more, err
}

// Switch implements [store.Generator].
func (s *Store) Switch(ctx context.Context, name string, terms store.SwitchTerms) (obstacle store.Obstacle, err error) {
	switched := ""
	err = s.writeGeneration(ctx, name, func(c *collection, g *generation) error {
		if g.state == store.Serving {
			return nil
		}
		if terms.New && g.state != store.Building {
			return fmt.Errorf("%w: generation %s that is being built", store.ErrNotFound, name)
		}
		if g.derived != nil {
			obstacle = c.derivedObstacle(g, terms.Force)
		} else {
			obstacle = c.obstacle(g, name, terms.Force)
		}
		if obstacle.Why != store.Unhindered {
			return nil
		}
		switched, _, _ = strings.Cut(name, "@")
		until := time.Time{}
		if terms.Keep > 0 {
			until = time.Now().Add(terms.Keep).UTC().Round(0)
		}
		if c.building == g {
			c.building = nil
		}
		s.serveLocked(c, g, store.Kept, until)
		return nil
	})
	if switched != "" {
		s.listeners.Switched(switched)
	}
	return obstacle, err
}

// obstacle returns what is in the way of serving a generation.
func (c *collection) obstacle(g *generation, name string, force bool) store.Obstacle {
	if g.filled < g.toFill {
		return store.Obstacle{Why: store.Unfilled}
	}
	if dirty := g.runnable.after(place{}, store.MaxDirty+1, nil); len(dirty) > store.MaxDirty {
		return store.Obstacle{Why: store.TooDirty}
	}
	var found store.Obstacle
	behind := func(why store.Hindrance) func(*document) {
		return func(d *document) {
			if old := c.documents[d.key.ID]; found.Why == store.Unhindered && old != nil && d.applied < old.applied {
				found = store.Obstacle{Why: why, Document: store.Key{Collection: name, ID: d.key.ID}}
			}
		}
	}
	g.runnable.all(behind(store.Behind))
	if !force {
		g.parked.all(behind(store.ParkedBehind))
	}
	return found
}

// serveLocked serves a generation; the one that was served gets a state and the place of
// the one that is kept.
func (s *Store) serveLocked(c *collection, g *generation, old store.GenerationState, until time.Time) {
	s.changes++
	before, lacks := c.generation, c.generation.lacks(s.endLocked())
	before.state, before.until = old, until
	g.state, g.until = store.Serving, time.Time{}
	if g.derived != nil {
		g.derived.reached = s.end
	}
	c.generation, c.kept = g, before
	if before.version == 0 { // it is that of a derived collection which nobody ever made
		c.kept = nil
	}
	c.switched, c.heldUntil = s.changes, time.Time{}
	s.relinkLocked()
	for _, m := range c.dependents {
		since := lacks
		if m.filled < m.toFill && m.mark.Position < since.Position {
			since = m.mark // what was not filled with yet
		}
		s.refillLocked(m)
		m.mark = since
	}
}

// Hold implements [store.Generator].
func (s *Store) Hold(ctx context.Context, name string, mine time.Time, d time.Duration) (until time.Time, err error) {
	err = s.writeCollection(ctx, name, func(c *collection) error {
		now := time.Now()
		if c.held(now) > 0 && !c.heldUntil.Equal(mine) {
			return nil
		}
		if d > 0 {
			until = now.Add(min(d, store.MaxHold))
		}
		c.heldUntil = until
		return nil
	})
	return until, err
}

// Rollback implements [store.Generator].
func (s *Store) Rollback(ctx context.Context, name string) error {
	err := s.writeCollection(ctx, name, func(c *collection) error {
		if c.kept == nil || c.kept.state != store.Kept {
			return fmt.Errorf("%w: no generation of %q is kept", store.ErrNotFound, name)
		}
		s.serveLocked(c, c.kept, store.SetAside, time.Time{})
		return nil
	})
	if err == nil {
		s.listeners.Switched(name)
	}
	return err
}

// Retire implements [store.Generator]. All of the generation goes at once.
func (s *Store) Retire(ctx context.Context, name string) error {
	return s.writeGeneration(ctx, name, func(c *collection, g *generation) error {
		switch g {
		case c.generation:
			return &store.InvalidError{Field: "generation to retire", Got: name + ", which is served", Want: "one that is not"}
		case c.building:
			c.building = nil
		default:
			c.kept = nil
		}
		s.relinkLocked()
		return nil
	})
}

// Sweep implements [store.Generator]. There is never anything to remove.
func (s *Store) Sweep(ctx context.Context) (more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return false, s.writableLocked(ctx)
}
