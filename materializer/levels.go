package materializer

import (
	"context"
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
)

// levels returns collections and all that they are made of, as readers call them, with the
// mappings in between: sources before what is made of them. What a level makes dirty is in those
// after it, so that who has waited for one after the other has waited for all. They are those of
// what is served now.
func (m *Materializer) levels(ctx context.Context, collections []string) ([][]string, error) {
	sources, err := m.sources(ctx)
	if err != nil {
		return nil, err
	}
	var plain []string
	var levels [][]string
	seen := make(map[string]bool)
	var add func(name string)
	add = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		of := sources[name]
		if of == nil {
			plain = append(plain, name)
			return
		}
		for _, s := range of {
			add(s)
		}
		if len(of) == 0 { // nobody here knows of what: it is waited for to be filled
			levels = append(levels, []string{name + "<"}, []string{name})
			return
		}
		levels = append(levels, mappingsOf(name, of), []string{name})
	}
	for _, name := range collections {
		add(name)
	}
	if plain == nil {
		return levels, nil
	}
	return slices.Insert(levels, 0, plain), nil
}

// sources returns the sources of what is served of each derived collection, whether a fold of it
// is registered here or not. Where nobody has made anything yet they are those of what is
// registered here, which is waited for to be filled.
func (m *Materializer) sources(ctx context.Context) (map[string][]string, error) {
	stored, err := m.st.Collections(ctx)
	if err != nil {
		return nil, fmt.Errorf("refold: reading the collections: %w", err)
	}
	sources := make(map[string][]string)
	for i := range stored {
		if c := &stored[i]; c.Derived {
			sources[c.Name] = m.sourcesOf(c)
		}
	}
	return sources, nil
}

// sourcesOf returns the sources of what is served of a derived collection.
func (m *Materializer) sourcesOf(c *store.Collection) []string {
	if c.Version > 0 || !c.Derived {
		return c.Sources
	}
	sources := []string{}
	for _, of := range m.registry.Load().named[c.Name] {
		for _, source := range of.sources() {
			if !slices.Contains(sources, source) {
				sources = append(sources, source)
			}
		}
	}
	return sources
}

// mappingsOf returns the mappings that feed a derived collection, or a generation of it.
func mappingsOf(name string, sources []string) []string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = name + "<" + s
	}
	return names
}

// upstream returns the levels before a derived collection.
func (m *Materializer) upstream(ctx context.Context, name string) ([][]string, error) {
	levels, err := m.levels(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	return levels[:len(levels)-1], nil
}
