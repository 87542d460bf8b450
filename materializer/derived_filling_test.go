package materializer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// onEach runs a test on both backends.
func onEach(t *testing.T, test func(t *testing.T, st store.Backend)) {
	t.Run("memory", func(t *testing.T) {
		st := memory.New(nil)
		t.Cleanup(func() { _ = st.Close() })
		test(t, st)
	})
	t.Run("sqlite", func(t *testing.T) {
		st := must(sqlite.Open(filepath.Join(t.TempDir(), "test.db"), nil))(t)
		t.Cleanup(func() { _ = st.Close() })
		test(t, st)
	})
}

// another returns an empty store of the same kind.
func another(t *testing.T, st store.Backend) store.Backend {
	t.Helper()
	var next store.Backend = memory.New(nil)
	if _, ok := st.(*sqlite.Store); ok {
		next = must(sqlite.Open(filepath.Join(t.TempDir(), "test.db"), nil))(t)
	}
	t.Cleanup(func() { _ = next.Close() })
	return next
}

// A collection over sources that are there already is filled, and a wait waits for that; it
// is not read half made.
func TestDerivedOverWhatIsThere(t *testing.T) {
	onEach(t, func(t *testing.T, st store.Backend) {
		r := newDerivedRig(t, st, materializer.Config{})
		const n = 600
		for i := range n {
			r.set(fmt.Sprintf("f%03d", i), file{Author: fmt.Sprint("author", i%7), Lines: 1})
		}
		_, letters, all := chain(t, r)
		cards := must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
		want(t, letters, map[string]total{})
		r.start()
		r.drain()
		want(t, letters, map[string]total{"a": {n, 7}})
		want(t, all, map[string]total{"all": {n, 1}})
		if got := len(states(t, cards)); got != n {
			t.Errorf("%d cards, want %d", got, n)
		}
	})
}

// A document that cannot be made does not keep a collection from being served for the first
// time: nothing was served before.
func TestDerivedFirstFillingWithAParkedDocument(t *testing.T) {
	onEach(t, func(t *testing.T, st store.Backend) {
		r := newDerivedRig(t, st, materializer.Config{})
		r.set("a", file{Author: "ann", Lines: 1})
		r.set("b", file{Author: "bob", Lines: 2, Then: "fail map"})
		r.set("c", file{Author: "cid", Lines: 4, Then: "fail reduce"})
		authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
		r.start()
		wantErr(t, authors.Drain(within(t, time.Minute)), materializer.ErrParked)
		want(t, authors, map[string]author{"ann": {1, []string{"0/a"}}})
		if parked := parkedOf(t, authors); len(parked) != 2 {
			t.Errorf("parked are %+v, want 2", parked)
		}
	})
}

// A higher version is made beside the one that is served, and takes its place.
func TestDerivedNextVersion(t *testing.T) {
	onEach(t, func(t *testing.T, st store.Backend) {
		r := newDerivedRig(t, st, materializer.Config{})
		must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
		run := (&rig{m: r.m}).start()
		r.set("a", file{Author: "ann", Lines: 1})
		r.set("b", file{Author: "ann", Lines: 2})
		r.drain()
		if err := run.halt(); err != nil {
			t.Fatal(err)
		}

		next := newDerivedRig(t, st, materializer.Config{})
		spec := incremental(authorsOf(materializer.From(next.files, func(_ string, f file, emit func(string, file)) error {
			emit(strings.ToUpper(f.Author), f)
			return nil
		})))
		spec.Version = 2
		authors := must(materializer.ByContributions(next.m, spec))(t)
		must(materializer.ByContributions(next.m, totalsOf("letters", authors, func(a author) int { return a.Lines }, func(id string) string { return id[:1] })))(t)
		next.start()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if g := must(next.m.Generations(context.Background(), "authors"))(t); g[len(g)-1].State == materializer.Serving {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the new version is not served")
			}
		}
		next.drain()
		want(t, authors, map[string]author{"ANN": {3, []string{"0/a", "0/b"}}})
	})
}

// When another version of a source is served, what is made of it is made of its views.
func TestDerivedOfNextVersionOfSource(t *testing.T) {
	onEach(t, func(t *testing.T, st store.Backend) {
		r := newDerivedRig(t, st, materializer.Config{})
		chain(t, r)
		must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
		run := (&rig{m: r.m}).start()
		r.set("a", file{Author: "ann", Lines: 1})
		r.set("b", file{Author: "bob", Lines: 2, Links: []string{"a"}})
		r.drain()
		if err := run.halt(); err != nil {
			t.Fatal(err)
		}

		next := &derivedRig{t: t, st: st, m: must(materializer.New(st, materializer.Config{}))(t)}
		spec := filesSpec("files")
		spec.Version = 2
		fold := spec.Fold
		spec.Fold = func(f file, op materializer.Operation[file]) (file, error) {
			f, err := fold(f, op)
			f.Lines *= 10
			return f, err
		}
		next.files = must(materializer.Register(next.m, spec))(t)
		_, _, all := chain(t, next)
		cards := must(materializer.ByReads(next.m, cardsOf(next.files)))(t)
		next.start()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if g := must(next.m.Generations(context.Background(), "files"))(t); g[len(g)-1].State == materializer.Serving {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the new version is not served")
			}
		}
		next.drain()
		want(t, all, map[string]total{"all": {30, 2}})
		want(t, cards, map[string]card{"a": {Lines: 10}, "b": {20, []string{"a has 10"}}})
	})
}
