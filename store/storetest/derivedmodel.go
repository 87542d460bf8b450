package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/refold-go/refold/store"
)

// The derived model is what an application might have: each view is a pure function of
// the operations, or of views that are served.
//
//	notes, tasks   folded from operations; a view is a list of words
//	tags           by contributions of notes and tasks, one for each word
//	pages          by reads of a note, the note that its first word names, and a tag
//	sums           by contributions of tags and pages, kept by deltas
var modelDerivations = []store.Derivation{
	{Name: "tags", Sources: []string{"notes", "tasks"}},
	{Name: "pages", Sources: []string{"notes", "tags"}},
	{Name: "sums", Sources: []string{"tags", "pages"}, Deltas: true},
}

// modelWords are what views are made of, and the ids of notes and tasks.
var modelWords = []string{"a", "b", "c", "d"}

// wordsOf is the fold of notes and tasks: the words of the last operation. A version
// above the first one leaves the last word out. Operations without words delete.
func wordsOf(version int, operations []store.Operation) (view string, deleted bool) {
	words := strings.Fields(string(operations[len(operations)-1].Body))
	if version > 1 && len(words) > 0 {
		words = words[:len(words)-1]
	}
	return strings.Join(words, " "), len(words) == 0
}

// pairsOf is the map of tags and sums: what a document that has a view contributes.
func pairsOf(collection string, version int, source store.Key, view []byte) []store.Pair {
	if view == nil {
		return nil
	}
	if collection == "sums" {
		return []store.Pair{{Key: fmt.Sprint("sum", len(view)%3), Body: view}}
	}
	bodies := make(map[string]string)
	for i, word := range strings.Fields(string(view)) {
		bodies[word] = fmt.Sprint(source.Collection, i, " of version ", version)
	}
	var all []store.Pair
	for _, word := range slices.Sorted(maps.Keys(bodies)) {
		all = append(all, store.Pair{Key: word, Body: []byte(bodies[word])})
	}
	return all
}

// keysOf is the key function of pages.
func keysOf(source store.Key) []store.Pair { return []store.Pair{{Key: source.ID}} }

// pageOf is the build of pages.
func pageOf(id string, read func(store.Key) []byte) (view string, deleted bool) {
	note := read(key(id))
	view = fmt.Sprintf("%q", note)
	if words := strings.Fields(string(note)); len(words) > 0 {
		view += fmt.Sprintf(" to %q", read(key(words[0])))
	}
	tag := read(tag(id))
	return view + fmt.Sprintf(" tag of %d", len(tag)), note == nil && tag == nil
}

// reduced is the view of a document of tags or sums.
func reduced(all []store.Contribution) (view string, deleted bool) {
	var lines []string
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("%d %s %s", c.Input, strconv.Quote(c.Source), strconv.Quote(string(c.Body))))
	}
	return strings.Join(lines, "\n"), len(all) == 0
}

// added is the view of a document of sums after some more deltas.
func added(view string, deltas []store.Operation) (string, bool) {
	all := make(map[store.Contributor][]byte)
	for line := range strings.Lines(view) {
		var c store.Contribution
		var body string
		if _, err := fmt.Sscanf(line, "%d %q %q", &c.Input, &c.Source, &body); err != nil {
			panic(fmt.Sprintf("line %q: %v", line, err))
		}
		all[c.Contributor] = []byte(body)
	}
	for _, op := range deltas {
		d, err := store.ParseDelta(op.Body)
		if err != nil {
			panic(err)
		}
		if d.After == nil {
			delete(all, d.Contributor)
		} else {
			all[d.Contributor] = d.After
		}
	}
	var list []store.Contribution
	for _, c := range slices.SortedFunc(maps.Keys(all), compareContributors) {
		list = append(list, store.Contribution{Contributor: c, Body: all[c]})
	}
	return reduced(list)
}
