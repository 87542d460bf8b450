package materializer_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// A view that concerns a thousand documents is mapped once, in however many slices the store
// takes that; and what another view says is never mixed with it.
func TestDerivedMapsOnce(t *testing.T) {
	const n = 1000
	st := must(sqlite.Open(filepath.Join(t.TempDir(), "derived.db"), nil))(t)
	t.Cleanup(func() { _ = st.Close() })
	slices := &counted{of: func(k materializer.Key) bool { return k.Collection == "authors<files" }}
	r := newDerivedRig(t, st, materializer.Config{Tracer: slices})
	var calls atomic.Int64
	authors := must(materializer.ByContributions(r.m, authorsOf(materializer.From(r.files, func(_ string, f file, emit func(string, file)) error {
		calls.Add(1)
		for _, key := range numbered("k", f.Lines) {
			emit(key, file{Lines: f.Lines})
		}
		return nil
	}))))(t)
	r.start()
	for _, lines := range []int{n, n - 1, 10} {
		calls.Store(0)
		slices.runs.Store(0)
		r.set("a", file{Lines: lines})
		r.drain()
		if got := slices.runs.Load(); got < 2 {
			t.Errorf("%d slices, want several", got)
		}
		if got := calls.Load(); got != 1 {
			t.Errorf("a view that concerns %d documents was mapped %d times, want once", lines, got)
		}
		all := make(map[string]author)
		for _, key := range numbered("k", lines) {
			all[key] = author{lines, []string{"0/a"}}
		}
		want(t, authors, all)
	}
	// The source changes while slices are on their way.
	slices.runs.Store(0)
	for i := range 10 {
		r.set("a", file{Lines: n - i})
		if err := r.files.Drain(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	r.drain()
	all := make(map[string]author)
	for _, key := range numbered("k", n-9) {
		all[key] = author{n - 9, []string{"0/a"}}
	}
	want(t, authors, all)
}
