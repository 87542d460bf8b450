package materializer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// What fails parks the document whose run it is, with its error, and nothing else: the
// source document of which it cannot be found out what it does, or the derived document that cannot be
// made of it. When the source is mended it goes on by Resume, which Parked tells of.
func TestDerivedParks(t *testing.T) {
	for name, of := range reduces {
		for _, then := range []string{"fail map", "panic map", "fail reduce", "panic reduce"} {
			t.Run(name+"/"+then, func(t *testing.T) {
				r := newDerivedRig(t, nil, materializer.Config{})
				authors := must(materializer.ByContributions(r.m, of(authorsOf(byAuthor(r.files)))))(t)
				r.start()
				r.set("a", file{Author: "ann", Lines: 1})
				r.set("b", file{Author: "bob", Lines: 2})
				r.drain()
				r.set("a", file{Author: "ann", Lines: 4, Then: then})
				token := r.set("b", file{Author: "bob", Lines: 8})
				r.drain()
				// The last good view is served, and all else goes on.
				want(t, authors, map[string]author{"ann": {1, []string{"0/a"}}, "bob": {8, []string{"0/b"}}})

				parked := parkedOf(t, authors)
				if len(parked) != 1 {
					t.Fatalf("parked are %+v, want one", parked)
				}
				p, source, id := parked[0], "", "ann"
				if strings.HasSuffix(then, "map") {
					source, id = "files", "a"
				}
				if p.Source != source || p.ID != id || !strings.Contains(p.Error, "planted") || p.Seq != p.Applied+1 {
					t.Errorf("parked is %+v, want %s of source %q", p, id, source)
				}
				if panics := strings.HasPrefix(then, "panic"); (p.Stack != "") != panics {
					t.Errorf("it has the stack %q", p.Stack)
				}
				var x materializer.Explanation
				if source == "" {
					x = must(authors.Explain(context.Background(), id))(t)
				} else {
					x = must(authors.ExplainSource(context.Background(), source, id))(t)
				}
				if x.State != materializer.StateParked || !strings.Contains(x.String(), "planted") {
					t.Errorf("it is explained as %v", x)
				}
				// It is told to who waits, at once.
				wantErr(t, authors.Wait(within(t, time.Minute), token), materializer.ErrParked)
				wantErr(t, authors.Wait(within(t, time.Minute), token, "ann"), materializer.ErrParked)
				v, err := authors.Get(within(t, time.Minute), "ann", materializer.AtLeast(token))
				wantErr(t, err, materializer.ErrParked)
				if v.State.Lines != 1 {
					t.Errorf("the view has %d lines, want the last good one", v.State.Lines)
				}

				r.set("a", file{Author: "ann", Lines: 16})
				r.drain()
				if n := must(authors.ResumeAll(context.Background()))(t); n != 1 {
					t.Errorf("%d were resumed, want 1", n)
				}
				if err := authors.Drain(within(t, time.Minute)); err != nil {
					t.Fatal(err)
				}
				want(t, authors, map[string]author{"ann": {16, []string{"0/a"}}, "bob": {8, []string{"0/b"}}})
				if parked := parkedOf(t, authors); len(parked) > 0 {
					t.Errorf("still parked: %+v", parked)
				}
			})
		}
	}
}

func parkedOf[V any](t testing.TB, d *materializer.Derived[V]) (all []materializer.ParkedDocument) {
	t.Helper()
	for p, err := range d.Parked(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// A build that fails parks its document, and what it had read before goes on to count.
func TestDerivedBuildParks(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	cards := must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
	r.start()
	r.set("a", file{Lines: 1})
	r.set("b", file{Lines: 2, Links: []string{"a"}})
	r.drain()
	r.set("a", file{Then: "panic build"})
	r.drain()
	want(t, cards, map[string]card{"a": {Lines: 1}, "b": {2, []string{"a has 0"}}})
	if parked := parkedOf(t, cards); len(parked) != 1 || parked[0].ID != "a" || parked[0].Source != "" || parked[0].Stack == "" {
		t.Errorf("parked are %+v, want a", parked)
	}
	r.set("a", file{Lines: 4})
	r.drain() // built of what is stored by then it would only park again
	if n := must(cards.Resume(context.Background(), "a", "b"))(t); n != 1 {
		t.Errorf("%d were resumed, want 1", n)
	}
	r.drain()
	want(t, cards, map[string]card{"a": {Lines: 4}, "b": {2, []string{"a has 4"}}})
}

// The last good view of a source that is parked goes on to count; when it is resumed, the
// next one does. A wait is told.
func TestDerivedOfParkedSource(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	_, _, all := chain(t, r)
	r.start()
	r.set("a", file{Author: "ann", Lines: 1})
	r.set("b", file{Author: "bob", Lines: 2})
	r.drain()
	r.set("a", file{Then: "fail fold"})
	token := r.set("b", file{Author: "bob", Lines: 4})
	for _, err := range []error{r.m.Wait(within(t, time.Minute), token), all.Wait(within(t, time.Minute), token)} {
		wantErr(t, err, materializer.ErrParked)
	}
	v, err := all.Get(within(t, time.Minute), "all", materializer.AtLeast(token))
	wantErr(t, err, materializer.ErrParked)
	if v.State.Lines != 5 {
		t.Errorf("%d lines in all, want 5", v.State.Lines)
	}
	if err := r.files.Discard(context.Background(), "a", 2, "a test", "planted"); err != nil {
		t.Fatal(err)
	}
	token = r.set("a", file{Author: "ann", Lines: 8})
	v = must(all.Get(within(t, time.Minute), "all", materializer.AtLeast(token)))(t)
	if v.State.Lines != 12 {
		t.Errorf("%d lines in all, want 12", v.State.Lines)
	}
}

// What is forgotten contributes nothing, and who read it is built without it.
func TestDerivedOfForgottenSource(t *testing.T) {
	for name, of := range reduces {
		t.Run(name, func(t *testing.T) {
			r := newDerivedRig(t, nil, materializer.Config{})
			authors := must(materializer.ByContributions(r.m, of(authorsOf(byAuthor(r.files)))))(t)
			cards := must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
			r.start()
			r.set("a", file{Author: "ann", Lines: 1})
			r.set("b", file{Author: "ann", Lines: 2, Links: []string{"a"}})
			r.drain()
			if err := r.files.Forget(context.Background(), "a"); err != nil {
				t.Fatal(err)
			}
			r.drain()
			want(t, authors, map[string]author{"ann": {2, []string{"0/b"}}})
			got := states(t, cards)
			if links := got["b"].Links; len(links) != 1 || links[0] != "a is gone" {
				t.Errorf("b links to %v, want it without a", links)
			}
		})
	}
}

// A build that reads what it has not named fails, and says what.
func TestDerivedBuildReadsAStranger(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	secrets := must(materializer.Register(r.m, filesSpec("secrets")))(t)
	spec := cardsOf(r.files)
	spec.Build = func(r *materializer.Reader, id string) (card, error) {
		_, _ = materializer.Read(r, secrets, id)
		return card{}, nil
	}
	cards := must(materializer.ByReads(r.m, spec))(t)
	r.start()
	r.set("a", file{})
	r.drain()
	parked := parkedOf(t, cards)
	if len(parked) != 1 || parked[0].Attempts != 1 || !strings.Contains(parked[0].Error, `"secrets"`) {
		t.Errorf("parked are %+v, want a at its first attempt, with the name of what it read", parked)
	}
}

// A document may contribute once to another, and only to what can be a document.
func TestDerivedWrongContributions(t *testing.T) {
	r := newDerivedRig(t, nil, materializer.Config{})
	spec := authorsOf(materializer.From(r.files, func(_ string, f file, emit func(string, file)) error {
		emit(f.Author, f)
		emit(f.Author, file{})
		return nil
	}))
	authors := must(materializer.ByContributions(r.m, spec))(t)
	r.start()
	for i, a := range []string{"twice", "", strings.Repeat("x", store.MaxDocumentID+1)} {
		r.set(fmt.Sprint(i), file{Author: a})
	}
	r.drain()
	parked := parkedOf(t, authors)
	if len(parked) != 3 {
		t.Fatalf("parked are %+v, want 3", parked)
	}
	for i, text := range []string{"contributes twice to authors/twice", "document id", "document id"} {
		if p := parked[i]; p.Attempts != 1 || !strings.Contains(p.Error, text) {
			t.Errorf("parked is %+v, want at once with %q", p, text)
		}
	}
}
