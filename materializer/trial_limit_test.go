package materializer_test

import (
	"iter"
	"strings"
	"testing"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// A dry run says of a source document what would park it: a contribution that is too large, as
// one that is given twice.
func TestDryRunOfWhatCannotBeContributed(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
	r.start()
	r.set("a1", file{Author: "ann", Lines: 1})
	r.set("b1", file{Author: "bob", Lines: 1})
	r.drain()
	result, err := materializer.DryRunContributions(t.Context(), authors, materializer.Contributions[string, int]{
		Name: "authors", Version: 2,
		Sources: []materializer.Source[string]{materializer.From(r.files, func(id string, _ file, emit func(string, string)) error {
			if id == "a1" {
				emit("all", strings.Repeat("x", store.MaxBody))
				return nil
			}
			emit("all", "x")
			emit("all", "y")
			return nil
		})},
		Reduce: func(string, iter.Seq2[materializer.Contributor, string]) (int, error) { return 0, nil },
	}, materializer.DryRunOptions[author, int]{})
	if err != nil || result.Failing != 2 || len(result.Differences) != 2 {
		t.Fatalf("the result is %+v, %v", result, err)
	}
	for i, want := range []struct{ source, err string }{
		{"a1", "at most " + "16777216"}, {"b1", "it contributes twice to authors"},
	} {
		d := result.Differences[i]
		if len(d.Sources) != 1 || d.Sources[0].ID != want.source || !strings.Contains(d.Err.Error(), want.err) {
			t.Errorf("it is %v, want %s, of %s", d, want.err, want.source)
		}
	}
}
