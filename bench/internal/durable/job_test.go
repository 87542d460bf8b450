package durable

import (
	"maps"
	"testing"

	"github.com/refold-go/refold/bench/internal/harness"
)

// A result in which anything is missing or too much must not count.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	w := newWork(harness.Tiny, 1, 1)
	if err := w.check(w.want); err != nil {
		t.Errorf("the right views: %v", err)
	}
	one := w.appends[0].document
	for name, spoil := range map[string]func(map[string]view){
		"a view is missing":       func(v map[string]view) { delete(v, one) },
		"an operation is missing": func(v map[string]view) { v[one] = view{N: v[one].N - 1, Total: v[one].Total} },
		"one was folded twice":    func(v map[string]view) { v[one] = v[one].add(w.appends[0].operations[0]) },
		"the sum is another":      func(v map[string]view) { v[one] = view{N: v[one].N, Total: v[one].Total + 1} },
		"a view is too much":      func(v map[string]view) { v["nobody"] = view{N: 1} },
	} {
		views := maps.Clone(w.want)
		spoil(views)
		if w.check(views) == nil {
			t.Errorf("%s, and it counts", name)
		}
	}
}

func TestWorkKeepsItsShape(t *testing.T) {
	for _, perAppend := range []int{1, 10} {
		for _, share := range []float64{1, 0.01} {
			w := newWork(harness.Full, share, perAppend)
			if got, want := w.operations(), int(share*jobOperations); got != want {
				t.Errorf("share %v has %d operations, want %d", share, got, want)
			}
			if got, want := len(w.documents), int(share*jobDocuments); got != want {
				t.Errorf("share %v has %d documents, want %d", share, got, want)
			}
		}
	}
}

func TestGroupsHaveEachDocumentOnce(t *testing.T) {
	for _, group := range grouped(newWork(harness.Quick, 1, 1).appends, 1000) {
		seen := make(map[string]bool)
		for _, c := range group {
			if seen[c.document] {
				t.Fatalf("%s is there twice", c.document)
			}
			seen[c.document] = true
		}
	}
}
