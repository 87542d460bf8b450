package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// Each source document contributes to one derived document, and moves to another, or
// goes.
func TestByContributions(t *testing.T) {
	for name, of := range reduces {
		t.Run(name, func(t *testing.T) {
			r := newDerivedRig(t, nil, materializer.Config{})
			authors := must(materializer.ByContributions(r.m, of(authorsOf(byAuthor(r.files)))))(t)
			r.start()
			r.set("a", file{Author: "ann", Lines: 1})
			r.set("b", file{Author: "ann", Lines: 2})
			r.set("c", file{Author: "bob", Lines: 4})
			r.drain()
			want(t, authors, map[string]author{"ann": {3, []string{"0/a", "0/b"}}, "bob": {4, []string{"0/c"}}})

			r.set("b", file{Author: "bob", Lines: 8})
			r.set("a", file{Then: "delete"})
			r.drain()
			want(t, authors, map[string]author{"bob": {12, []string{"0/b", "0/c"}}})
			_, err := authors.Get(context.Background(), "ann")
			wantErr(t, err, materializer.ErrDeleted)

			r.set("a", file{Author: "ann", Lines: 16})
			r.drain()
			want(t, authors, map[string]author{"ann": {16, []string{"0/a"}}, "bob": {12, []string{"0/b", "0/c"}}})
		})
	}
}

// reduces are both ways to make the same of contributions.
var reduces = map[string]func(contributions) contributions{
	"whole":       func(c contributions) contributions { return c },
	"incremental": incremental,
}

func want[V any](t testing.TB, d *materializer.Derived[V], want map[string]V) {
	t.Helper()
	if diff := cmp.Diff(want, states(t, d)); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", d.Name(), diff)
	}
}

// A document is built again when something changes that it has read, also what was not
// there when it was read, and what its own source does not name any more.
func TestByReads(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	cards := must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
	r.start()
	r.set("a", file{Lines: 1, Links: []string{"b", "c"}})
	r.drain()
	want(t, cards, map[string]card{"a": {1, []string{"b is gone", "c is gone"}}})
	r.set("b", file{Lines: 2})
	r.drain()
	want(t, cards, map[string]card{"a": {1, []string{"b has 2", "c is gone"}}, "b": {Lines: 2}})
	r.set("b", file{Lines: 3})
	r.set("c", file{Lines: 4, Links: []string{"a"}})
	r.drain()
	want(t, cards, map[string]card{"a": {1, []string{"b has 3", "c has 4"}}, "b": {Lines: 3}, "c": {4, []string{"a has 1"}}})
	r.set("a", file{Then: "delete"})
	r.drain()
	want(t, cards, map[string]card{"b": {Lines: 3}, "c": {4, []string{"a is gone"}}})
}

// Whatever the order in which sources change, the same is made of them.
func TestDerivedDoesNotShowArrivalOrder(t *testing.T) {
	for name, of := range reduces {
		t.Run(name, func(t *testing.T) {
			made := func(order []int) (map[string]author, map[string]card) {
				r := newDerivedRig(t, nil, materializer.Config{Workers: 3})
				authors := must(materializer.ByContributions(r.m, of(authorsOf(byAuthor(r.files)))))(t)
				cards := must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
				r.start()
				for _, i := range order {
					r.set(fmt.Sprint("f", i), file{
						Author: fmt.Sprint("author", i%3), Lines: i, Links: []string{fmt.Sprint("f", (i*7)%20)},
					})
				}
				r.drain()
				return states(t, authors), states(t, cards)
			}
			order := make([]int, 20)
			for i := range order {
				order[i] = i
			}
			authors, cards := made(order)
			for range 5 {
				rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				otherAuthors, otherCards := made(order)
				if diff := cmp.Diff(authors, otherAuthors) + cmp.Diff(cards, otherCards); diff != "" {
					t.Fatalf("order %v: %s", order, diff)
				}
			}
		})
	}
}

// chain registers three levels: authors, their totals by first letter, and the total of
// these.
func chain(t testing.TB, r *derivedRig) (authors *materializer.Derived[author], letters, all *materializer.Derived[total]) {
	authors = must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
	letters = must(materializer.ByContributions(r.m, totalsOf("letters", authors, func(a author) int { return a.Lines }, func(id string) string { return id[:1] })))(t)
	all = must(materializer.ByContributions(r.m, totalsOf("all", letters, func(t total) int { return t.Lines }, func(string) string { return "all" })))(t)
	return authors, letters, all
}

// A derived collection can be a source.
func TestDerivedChain(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	_, letters, all := chain(t, r)
	r.start()
	for i, a := range []string{"ann", "abe", "bob", "ann"} {
		r.set(fmt.Sprint(i), file{Author: a, Lines: 1 << i})
	}
	r.drain()
	want(t, letters, map[string]total{"a": {11, 2}, "b": {4, 1}})
	want(t, all, map[string]total{"all": {15, 2}})
	r.set("2", file{Then: "delete"})
	token := r.set("3", file{Author: "cid", Lines: 16})
	got := must(all.Get(within(t, time.Minute), "all", materializer.AtLeast(token)))(t)
	if diff := cmp.Diff(total{19, 2}, got.State); diff != "" {
		t.Error(diff)
	}
	want(t, letters, map[string]total{"a": {3, 2}, "c": {16, 1}})
}

// What is made again and is the same goes no further.
func TestDerivedEqualResultStopsPropagation(t *testing.T) {
	synctest.Test(t, testEqualResultStopsPropagation)
}

func testEqualResultStopsPropagation(t *testing.T) {
	runs := &counted{of: func(k store.Key) bool { return k.Collection != "files" }}
	r := newDerivedRig(t, nil, materializer.Config{Tracer: runs})
	chain(t, r)
	r.start()
	r.set("a", file{Author: "ann", Lines: 1})
	r.set("b", file{Author: "ann", Lines: 2})
	r.drain()
	settle() // the last run is told of after it is stored
	settled := runs.runs.Load()
	r.set("a", file{Author: "ann", Lines: 1})
	r.drain()
	settle()
	if n := runs.runs.Load(); n != settled {
		t.Errorf("%d runs for a source whose view is as it was, want none", n-settled)
	}
	r.set("a", file{Author: "ann", Lines: 1, Folder: "elsewhere"})
	r.drain()
	settle()
	// The mapping and the author, whose view is as it was.
	if n := runs.runs.Load() - settled; n != 2 {
		t.Errorf("%d runs for a source that makes no difference, want 2", n)
	}
}

// Nothing of a registration that is refused is kept.
func TestDerivedRefused(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	other := newDerivedRig(t, nil, materializer.Config{})
	good := authorsOf(byAuthor(r.files))
	for name, spec := range map[string]func(c *contributions){
		"no name":                 func(c *contributions) { c.Name = "" },
		"no version":              func(c *contributions) { c.Version = 0 },
		"no source":               func(c *contributions) { c.Sources = nil },
		"a source twice":          func(c *contributions) { c.Sources = append(c.Sources, c.Sources[0]) },
		"an empty source":         func(c *contributions) { c.Sources = []materializer.Source[file]{{}} },
		"of another materializer": func(c *contributions) { c.Sources = []materializer.Source[file]{byAuthor(other.files)} },
		"nil for a collection": func(c *contributions) {
			c.Sources = []materializer.Source[file]{materializer.From(nil, func(string, file, func(string, file)) error { return nil })}
		},
		"nil for a function": func(c *contributions) {
			c.Sources = []materializer.Source[file]{materializer.From[file, file](r.files, nil)}
		},
		"no reduce":               func(c *contributions) { c.Reduce = nil },
		"add without remove":      func(c *contributions) { *c = incremental(*c); c.Remove = nil },
		"remove without add":      func(c *contributions) { *c = incremental(*c); c.Add = nil },
		"reduce and add":          func(c *contributions) { reduce := c.Reduce; *c = incremental(*c); c.Reduce = reduce },
		"the name of a plain one": func(c *contributions) { c.Name = "files" },
		"a negative interval":     func(c *contributions) { c.MinInterval = -1 },
	} {
		c := good
		spec(&c)
		if _, err := materializer.ByContributions(r.m, c); !errors.Is(err, materializer.ErrInvalid) {
			t.Errorf("%s: got %v, want %v", name, err, materializer.ErrInvalid)
		}
	}
	_, err := materializer.ByContributions(nil, good)
	wantErr(t, err, materializer.ErrInvalid)
	_, err = materializer.ByReads(r.m, materializer.Reads[card]{Name: "cards", Version: 1, Sources: cardsOf(r.files).Sources})
	wantErr(t, err, materializer.ErrInvalid)
	_, err = materializer.ByReads(r.m, materializer.Reads[hidden]{
		Name: "cards", Version: 1, Sources: cardsOf(r.files).Sources,
		Build: func(*materializer.Reader, string) (hidden, error) { return hidden{}, nil },
	})
	wantErr(t, err, materializer.ErrInvalid)

	must(materializer.ByContributions(r.m, good))(t)
	_, err = materializer.ByContributions(r.m, good)
	wantErr(t, err, materializer.ErrInvalid)
	spec := filesSpec("authors")
	_, err = materializer.Register(r.m, spec)
	wantErr(t, err, materializer.ErrInvalid)
	r.start()
	r.set("a", file{})
	r.drain()
	c := good
	c.Name = "later"
	_, err = materializer.ByContributions(r.m, c)
	wantErr(t, err, materializer.ErrStarted)
	for _, stored := range must(r.st.Collections(context.Background()))(t) {
		if stored.Name != "files" && stored.Name != "authors" {
			t.Errorf("the store has kept %q", stored.Name)
		}
	}
}

// hidden has nothing that JSON could keep.
type hidden struct{ x int }

var _ = hidden{}.x
