package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// file is both a document of the sources of the tests and its only operation, which
// replaces it.
type file struct {
	Author string   `json:",omitempty"`
	Folder string   `json:",omitempty"`
	Lines  int      `json:",omitempty"`
	Links  []string `json:",omitempty"`
	// Then deletes the document, or makes a function fail that gets it.
	Then string `json:",omitempty"`
}

func filesSpec(name string) materializer.Spec[file, file] {
	return materializer.Spec[file, file]{Name: name, Version: 1, Fold: func(_ file, op materializer.Operation[file]) (file, error) {
		switch op.Body.Then {
		case "delete":
			return file{}, materializer.Deleted
		case "fail fold":
			return file{}, materializer.Permanent(errPlanted)
		}
		return op.Body, nil
	}}
}

// author is made of the files of an author.
type author struct {
	Lines int
	Files []string
}

// planted makes what is planted happen.
func planted(f file, at string) error {
	switch f.Then {
	case "fail " + at:
		return materializer.Permanent(errPlanted)
	case "panic " + at:
		panic("planted panic")
	}
	return nil
}

type (
	files         = materializer.Collection[file, file]
	contributions = materializer.Contributions[file, author]
)

func byAuthor(c materializer.Readable[file]) materializer.Source[file] {
	return materializer.From(c, func(_ string, f file, emit func(string, file)) error {
		if err := planted(f, "map"); err != nil {
			return err
		}
		if f.Author != "" {
			emit(f.Author, f)
		}
		return nil
	})
}

func authorsOf(sources ...materializer.Source[file]) contributions {
	return contributions{Name: "authors", Version: 1, Sources: sources, Reduce: reduceAuthor, Retry: quick}
}

func reduceAuthor(_ string, all iter.Seq2[materializer.Contributor, file]) (author, error) {
	var a author
	for by, f := range all {
		if err := planted(f, "reduce"); err != nil {
			return a, err
		}
		a.Lines += f.Lines
		a.Files = append(a.Files, fmt.Sprintf("%d/%s", by.Input, by.Source))
	}
	return a, nil
}

// incremental makes the same by adding and removing.
func incremental(c contributions) contributions {
	c.Reduce = nil
	change := func(sign int) func(author, materializer.Contributor, file) (author, error) {
		return func(a author, by materializer.Contributor, f file) (author, error) {
			if err := planted(f, "reduce"); err != nil {
				return a, err
			}
			a.Lines += sign * f.Lines
			name := fmt.Sprintf("%d/%s", by.Input, by.Source)
			if sign < 0 {
				a.Files = slices.DeleteFunc(a.Files, func(s string) bool { return s == name })
			} else {
				at, _ := slices.BinarySearch(a.Files, name)
				a.Files = slices.Insert(a.Files, at, name)
			}
			return a, nil
		}
	}
	c.Add, c.Remove = change(1), change(-1)
	return c
}

// quick parks at the second failure.
var quick = materializer.Retry{Attempts: 2, First: time.Millisecond, Cap: time.Millisecond}

// card is built of a file and of those that it links to.
type card struct {
	Lines int
	Links []string
}

func cardsOf(c materializer.Readable[file]) materializer.Reads[card] {
	return materializer.Reads[card]{
		Name: "cards", Version: 1, Retry: quick,
		Sources: []materializer.Concern{materializer.Concerns(c, func(id string, f file) []string {
			if err := planted(f, "map"); err != nil {
				panic(err)
			}
			return []string{id}
		})},
		Build: func(r *materializer.Reader, id string) (card, error) {
			f, err := materializer.Read(r, c, id)
			switch {
			case errors.Is(err, materializer.ErrNotFound), errors.Is(err, materializer.ErrDeleted):
				return card{}, materializer.Deleted
			case err != nil:
				return card{}, err
			}
			if err := planted(f, "build"); err != nil {
				return card{}, err
			}
			made := card{Lines: f.Lines}
			for _, link := range f.Links {
				to, err := materializer.Read(r, c, link)
				switch {
				case err == nil:
					made.Links = append(made.Links, fmt.Sprintf("%s has %d", link, to.Lines))
				case errors.Is(err, materializer.ErrNotFound), errors.Is(err, materializer.ErrDeleted):
					made.Links = append(made.Links, link+" is gone")
				default:
					return made, err
				}
			}
			return made, nil
		},
	}
}

// total is made of authors, and of totals.
type total struct{ Lines, Of int }

func totalsOf[S any](name string, source materializer.Readable[S], lines func(S) int, key func(id string) string) materializer.Contributions[int, total] {
	return materializer.Contributions[int, total]{
		Name: name, Version: 1, Retry: quick,
		Sources: []materializer.Source[int]{materializer.From(source, func(id string, s S, emit func(string, int)) error {
			emit(key(id), lines(s))
			return nil
		})},
		Reduce: func(_ string, all iter.Seq2[materializer.Contributor, int]) (t total, _ error) {
			for _, lines := range all {
				t.Lines, t.Of = t.Lines+lines, t.Of+1
			}
			return t, nil
		},
	}
}

// derivedRig is a materializer with sources and what is made of them.
type derivedRig struct {
	t     testing.TB
	st    store.Backend
	m     *materializer.Materializer
	files *files
	run   *rig
}

func newDerivedRig(t testing.TB, st store.Backend, cfg materializer.Config) *derivedRig {
	t.Helper()
	if st == nil {
		s := memory.New(nil)
		t.Cleanup(func() { _ = s.Close() })
		st = s
	}
	r := &derivedRig{t: t, st: st, m: must(materializer.New(st, cfg))(t)}
	r.files = must(materializer.Register(r.m, filesSpec("files")))(t)
	return r
}

// must returns a value for a test that cannot go on without.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (r *derivedRig) start() *derivedRig {
	r.run = (&rig{m: r.m}).start()
	r.t.Cleanup(func() {
		if err := r.run.halt(); err != nil {
			r.t.Errorf("Run returned %v, want nil", err)
		}
	})
	return r
}

func (r *derivedRig) set(id string, f file) materializer.Token {
	r.t.Helper()
	return must(r.files.Append(context.Background(), id, f))(r.t)
}

// drain waits until all is made, but for what is parked.
func (r *derivedRig) drain() {
	r.t.Helper()
	if err := r.m.Drain(within(r.t, time.Minute)); err != nil && !errors.Is(err, materializer.ErrParked) {
		r.t.Fatal(err)
	}
}

// states returns the states of a derived collection by id.
func states[V any](t testing.TB, d *materializer.Derived[V]) map[string]V {
	t.Helper()
	all := make(map[string]V)
	for v, err := range d.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Applied > 0 {
			all[v.ID] = v.State
		}
	}
	return all
}

// counted counts the runs of documents by collection.
type counted struct {
	materializer.Tracer
	runs atomic.Int64
	of   func(store.Key) bool
}

func (c *counted) RunStart(ctx context.Context, _ materializer.RunStart) context.Context { return ctx }

func (c *counted) RunEnd(_ context.Context, run materializer.RunEnd) {
	if c.of(store.Key{Collection: run.Collection, ID: run.Document}) {
		c.runs.Add(1)
	}
}
