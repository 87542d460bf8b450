package materializer_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// Latest folds what the stored view lacks, and stores nothing.
func TestLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec())
		_, err := r.texts.Latest(t.Context(), "a")
		wantErr(t, err, materializer.ErrNotFound)
		_, err = r.texts.Latest(t.Context(), "")
		wantErr(t, err, materializer.ErrInvalid)

		latest := func(want string, applied int64) {
			t.Helper()
			writes := st.writes()
			v, err := r.texts.Latest(t.Context(), "a")
			if err != nil || v.ID != "a" || v.State.String() != want || v.Applied != applied || v.Head != applied {
				t.Errorf("got %+v, %v, want %q at %d of %[4]d", v, err, want, applied)
			}
			if got := st.writes(); got != writes {
				t.Errorf("%d writes, want none", got-writes)
			}
		}
		r.append("a", "one", "two")
		latest("one two", 2) // there is no view
		r.start()
		settle()
		latest("one two", 2) // nothing is lacking
		r.halt()
		r.append("a", numbered("w", 3000)...) // more than a page
		if v, err := r.texts.Latest(t.Context(), "a"); err != nil || v.Applied != 3002 || len(v.State.Words) != 3002 {
			t.Errorf("got %d words at %d, %v, want 3002", len(v.State.Words), v.Applied, err)
		}
		if doc := r.load("a"); doc.Applied != 2 {
			t.Errorf("applied %d after Latest, want 2 as before", doc.Applied)
		}

		// The condition of a decision: nothing came since.
		v, err := r.texts.Latest(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.m.Append(t.Context(), r.texts.Change("a", word{"last"}).ExpectHead(v.Head)); err != nil {
			t.Error(err)
		}
		_, err = r.m.Append(t.Context(), r.texts.Change("a", word{"lost"}).ExpectHead(v.Head))
		if conflict, ok := errors.AsType[*materializer.ConflictError](err); !ok || conflict.Expected != 3002 || conflict.Actual != 3003 {
			t.Errorf("got %v, want a conflict of 3002 with 3003", err)
		}
	})
}

// If the fold fails, Latest gives the state before.
func TestLatestWithAFoldThatFails(t *testing.T) {
	for _, c := range []struct{ bad, says string }{
		{"!fail", "planted failure"},
		{"!permanent", "wrapped: planted failure"},
		{"!panic", "panic: planted panic"},
	} {
		t.Run(c.bad, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
				r.append("a", "one")
				settle()
				r.halt()
				r.append("a", "two", c.bad, "four")
				v, err := r.texts.Latest(t.Context(), "a")
				fold, ok := errors.AsType[*materializer.FoldError](err)
				if !ok {
					t.Fatalf("got %v, want a FoldError", err)
				}
				if fold.Collection != "texts" || fold.Document != "a" || fold.Seq != 3 || fold.Attempt != 0 {
					t.Errorf("got %+v, want texts/a at 3", fold)
				}
				if want := "fold of texts/a at seq 3: " + c.says; err.Error() != want {
					t.Errorf("error %q, want %q", err, want)
				}
				if v.State.String() != "one two" || v.Applied != 2 || v.Head != 4 {
					t.Errorf("got %+v, want one two at 2 of 4", v)
				}
				if p, ok := errors.AsType[*materializer.PanicError](err); ok != (c.bad == "!panic") || ok && len(p.Stack) == 0 {
					t.Errorf("panic %+v, want one only where the fold panicked, with its stack", p)
				}
			})
		})
	}
}

func TestLatestWithAnUnknownKind(t *testing.T) {
	r := newRig(t, memory.New(nil), materializer.Config{}, spec())
	r.appendRaw("a", store.Entry{Body: []byte(`{"Text":"x"}`)}, store.Entry{Kind: "later"})
	v, err := r.texts.Latest(t.Context(), "a")
	wantErr(t, err, materializer.ErrUnknownKind)
	if v.Applied != 1 || v.State.String() != "x" {
		t.Errorf("got %+v, want x at 1", v)
	}
}

func TestGetManyAndAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		for _, id := range []string{"b", "a", "Z", "ä", "ab", "bad"} {
			r.append(id, id, "!permanent")
		}
		settle()
		r.append("b", "unseen")

		views, err := r.texts.GetMany(t.Context(), "b", "nobody", "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range views {
			got = append(got, fmt.Sprintf("%s %q %d of %d %v", v.ID, v.State, v.Applied, v.Head, v.Parked))
		}
		want := []string{`b "b" 1 of 3 true`, `nobody "" 0 of 0 false`, `a "a" 1 of 2 true`, `b "b" 1 of 3 true`}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if views, err := r.texts.GetMany(t.Context()); err != nil || len(views) != 0 {
			t.Errorf("of none: got %v, %v, want none", views, err)
		}
		_, err = r.texts.GetMany(t.Context(), "a", "")
		wantErr(t, err, materializer.ErrInvalid)

		got = nil
		for v, err := range r.texts.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, v.ID+"="+v.State.String())
		}
		if want := "[Z=Z a=a ab=ab b=b bad=bad ä=ä]"; fmt.Sprint(got) != want {
			t.Errorf("all: got %v, want %s", got, want)
		}
		for v := range r.texts.All(t.Context()) {
			if v.ID == "a" {
				break
			}
		}
		r.st.Close()
		for _, err := range r.texts.All(t.Context()) {
			wantErr(t, err, materializer.ErrClosed)
		}
	})
}

func TestOperationsGivesThemAsTheyWereAppended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		when := time.Date(2020, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600))
		_, err := r.m.Append(t.Context(), r.texts.ChangeWith("a",
			materializer.NewOperation[word]{ID: "i", Time: when, Meta: []byte("m"), Body: word{"one"}},
			materializer.NewOperation[word]{Body: word{"two"}}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for op, err := range r.texts.Operations(t.Context(), "a", 1) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%+v", op))
		}
		want := []string{
			fmt.Sprintf("%+v", operation{Document: "a", Seq: 1, ID: "i", Meta: []byte("m"), Time: when.UTC(), Body: word{"one"}}),
			fmt.Sprintf("%+v", operation{Document: "a", Seq: 2, Time: time.Now().UTC().Round(0), Body: word{"two"}}),
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}

		seqs := func(id string, from int64) (seqs []int64, err error) {
			for op, err := range r.texts.Operations(t.Context(), id, from) {
				if err != nil {
					return seqs, err
				}
				seqs = append(seqs, op.Seq)
			}
			return seqs, nil
		}
		r.appendRaw("a", store.Entry{Kind: "later"}, store.Entry{Body: []byte(`{}`)})
		for _, c := range []struct {
			id     string
			from   int64
			want   string
			target error
		}{
			{"a", 0, "[1 2]", materializer.ErrUnknownKind},
			{"a", 2, "[2]", materializer.ErrUnknownKind},
			{"a", 4, "[4]", nil},
			{"a", 5, "[]", nil},
			{"nobody", 1, "[]", nil},
			{"", 1, "[]", materializer.ErrInvalid},
		} {
			got, err := seqs(c.id, c.from)
			if fmt.Sprint(got) != c.want || !errors.Is(err, c.target) {
				t.Errorf("%q from %d: got %v, %v, want %s, %v", c.id, c.from, got, err, c.want, c.target)
			}
		}
	})
}
