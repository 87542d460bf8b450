package materializer

import (
	"slices"

	"github.com/refold-go/refold/store"
)

// levels returns collections and all that they are made of, as readers call them, with the
// mappings in between: sources before what is made of them. What a level makes dirty is in those
// after it, so that who has waited for one after the other has waited for all.
func (m *Materializer) levels(collections []string) [][]string {
	var plain []string
	var levels [][]string
	seen := make(map[string]bool)
	var add func(name string)
	add = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		sources := m.sourcesOf(name)
		if sources == nil {
			plain = append(plain, name)
			return
		}
		for _, s := range sources {
			add(s)
		}
		levels = append(levels, mappingsOf(name, sources), []string{name})
	}
	for _, name := range collections {
		add(name)
	}
	if plain == nil {
		return levels
	}
	return slices.Insert(levels, 0, plain)
}

// mappingsOf returns the mappings that feed what is served of a derived collection.
func mappingsOf(name string, sources []string) []string {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = store.CollectionName{Name: name, Source: s}.String()
	}
	return names
}

// upstream returns the levels before a derived collection.
func (m *Materializer) upstream(name string) [][]string {
	levels := m.levels([]string{name})
	return levels[:len(levels)-1]
}
