package memory

import (
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

func TestOrdered(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var o ordered[number, *document]
		documents := make(map[int]*document)
		limit := rapid.SampledFrom([]int{20, 5000}).Draw(r, "limit")
		insert := func(key int) {
			if documents[key] == nil {
				documents[key] = new(document)
				o.insert(number(key), documents[key])
			}
		}
		r.Repeat(map[string]func(*rapid.T){
			"": func(r *rapid.T) { checkOrdered(r, &o, documents) },
			"insert": func(r *rapid.T) {
				insert(rapid.IntRange(1, limit).Draw(r, "key"))
			},
			"insert a rising run": func(r *rapid.T) {
				from := rapid.IntRange(1, limit).Draw(r, "from")
				for key := from; key < from+limit/4; key++ {
					insert(key)
				}
			},
			"insert a falling run": func(r *rapid.T) {
				from := rapid.IntRange(1, limit).Draw(r, "from")
				for key := from; key > max(from-limit/4, 0); key-- {
					insert(key)
				}
			},
			"remove": func(r *rapid.T) {
				key := rapid.IntRange(1, limit).Draw(r, "key")
				o.remove(number(key))
				delete(documents, key)
			},
			"remove a run": func(r *rapid.T) {
				from := rapid.IntRange(1, limit).Draw(r, "from")
				for key := from; key < from+limit/4; key++ {
					o.remove(number(key))
					delete(documents, key)
				}
			},
			"read": func(r *rapid.T) {
				after, n := rapid.IntRange(0, limit).Draw(r, "after"), rapid.IntRange(0, limit).Draw(r, "n")
				keys := sortedKeys(documents)
				keys = keys[sort.SearchInts(keys, after+1):]
				keys = keys[:min(n, len(keys))]
				page := o.after(number(after), n, nil)
				if len(page) != len(keys) {
					r.Fatalf("%d documents after %d, want %d", len(page), after, len(keys))
				}
				for i, key := range keys {
					if page[i] != documents[key] {
						r.Fatalf("document %d after %d is not that of %d", i, after, key)
					}
				}
			},
		})
	})
}

func checkOrdered(r *rapid.T, o *ordered[number, *document], documents map[int]*document) {
	var keys []int
	for _, c := range o.chunks {
		if len(c) == 0 || len(c) > chunkSize {
			r.Fatalf("a chunk has %d elements", len(c))
		}
		for _, e := range c {
			if e.value != documents[int(e.key)] {
				r.Fatalf("the document of %d is another", e.key)
			}
			keys = append(keys, int(e.key))
		}
	}
	if want := sortedKeys(documents); !slices.Equal(keys, want) {
		r.Fatalf("keys are %v, want %v", keys, want)
	}
}

func sortedKeys(documents map[int]*document) []int {
	keys := make([]int, 0, len(documents))
	for key := range documents {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
