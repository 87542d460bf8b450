package materializer_test

import (
	"context"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// While a derived document is parked its sources go on changing: what it is told takes no more
// room than its sources do, and it is right when it goes on.
func TestDerivedParkedDoesNotPileUp(t *testing.T) {
	for name, of := range reduces {
		t.Run(name, func(t *testing.T) {
			r := newDerivedRig(t, nil, materializer.Config{})
			authors := must(materializer.ByContributions(r.m, of(authorsOf(byAuthor(r.files)))))(t)
			r.start()
			r.set("b", file{Author: "ann", Lines: 1})
			r.drain()
			r.set("a", file{Author: "ann", Lines: 1, Then: "fail reduce"})
			r.drain()
			for i := range 50 {
				r.set("b", file{Author: "ann", Lines: i})
				r.set("c", file{Author: "ann", Lines: i})
				r.set("d", file{Author: []string{"ann", "bob"}[i%2], Lines: i})
				r.drain()
			}
			r.set("a", file{Author: "ann", Lines: 1})
			r.drain()
			want(t, authors, map[string]author{"ann": {1, []string{"0/b"}}, "bob": {49, []string{"0/d"}}})
			ctx := context.Background()
			told := 0
			for _, err := range store.ReadOperations(ctx, r.st, store.Key{Collection: "authors", ID: "ann"}, 1) {
				if told++; err != nil {
					t.Fatal(err)
				}
			}
			if told > 4 {
				t.Errorf("%d deltas wait, want one of each of 4 sources at the most", told)
			}
			if n := must(authors.ResumeAll(ctx))(t); n != 1 {
				t.Errorf("%d were resumed, want 1", n)
			}
			r.drain()
			want(t, authors, map[string]author{"ann": {99, []string{"0/a", "0/b", "0/c"}}, "bob": {49, []string{"0/d"}}})
			// And what it is told from now on is again a delta for each change.
			r.set("d", file{Author: "ann", Lines: 1})
			r.drain()
			want(t, authors, map[string]author{"ann": {100, []string{"0/a", "0/b", "0/c", "0/d"}}})
		})
	}
}

// What nobody makes any more takes no more room either: a mapping without code has two deltas
// of each source document at the most.
func TestDerivedWithoutCodeDoesNotPileUp(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
	if err := authors.Pause(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.start()
	for i := range 50 {
		r.set("a", file{Author: "ann", Lines: i})
		if err := r.files.Drain(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	for _, err := range store.ReadOperations(context.Background(), r.st, store.Key{Collection: "authors<files", ID: "a"}, 1) {
		if told++; err != nil {
			t.Fatal(err)
		}
	}
	if told != 2 {
		t.Errorf("%d deltas wait, want 2", told)
	}
	if err := authors.Unpause(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.drain()
	want(t, authors, map[string]author{"ann": {49, []string{"0/a"}}})
}
