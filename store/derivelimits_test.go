package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/refold-go/refold/store"
)

func TestCheckDerivation(t *testing.T) {
	var many []string
	for i := range store.MaxSources + 1 {
		many = append(many, fmt.Sprint("source", i))
	}
	for _, c := range []struct {
		name  string
		d     store.Derivation
		field string
	}{
		{"one source", store.Derivation{Name: "tags", Version: 1, Sources: many[:1]}, ""},
		{"as many as there may be", store.Derivation{Name: "tags", Version: 7, Sources: many[1:], Deltas: true}, ""},
		{"too many", store.Derivation{Name: "tags", Version: 1, Sources: many}, "sources of tags"},
		{"none", store.Derivation{Name: "tags", Version: 1}, "sources of tags"},
		{"one twice", store.Derivation{Name: "tags", Version: 1, Sources: []string{"a", "b", "a"}}, "sources of tags"},
		{"no name", store.Derivation{Version: 1, Sources: many[:1]}, "collection name"},
		{"a version in the name", store.Derivation{Name: "tags@1", Version: 1, Sources: many[:1]}, "collection name"},
		{"a source with a version", store.Derivation{Name: "tags", Version: 1, Sources: []string{"a@1"}}, "collection name"},
		{"no version", store.Derivation{Name: "tags", Sources: many[:1]}, "version"},
	} {
		mustCheck(t, c.name, store.CheckDerivation(c.d), c.field == "", c.field)
	}
	err := store.CheckDerivation(store.Derivation{Name: "tags", Version: 1, Sources: []string{"a", "tags"}})
	if cycle, ok := errors.AsType[*store.CycleError](err); !ok || !errors.Is(err, store.ErrInvalid) || !slices.Equal(cycle.Path, []string{"tags", "tags"}) {
		t.Errorf("of itself: %v", err)
	}
	if want := "refold: derived collections in a cycle: tags is made of tags"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
}

func TestCheckCommitsReads(t *testing.T) {
	reads := make([]store.Read, store.MaxReads+1)
	for i := range reads {
		reads[i].Key = store.Key{Collection: "notes", ID: fmt.Sprint(i)}
	}
	c := store.Commit{Key: store.Key{Collection: "tags", ID: "a"}, Applied: 1, Reads: reads[1:]}
	mustCheck(t, "as many as there may be", store.CheckCommits([]store.Commit{c}), true, "")
	c.Reads = reads
	mustCheck(t, "too many", store.CheckCommits([]store.Commit{c}), false, "commit of tags/a")
}
