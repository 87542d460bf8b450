package materializer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/rs/zerolog"
)

func versioned(version int, f foldFunc) textSpec {
	s := specOf(f)
	s.Version = version
	return s
}

// upper is a fold whose views differ from those of fold: the words are upper case.
func upper(s text, op operation) (text, error) {
	op.Body.Text = strings.ToUpper(op.Body.Text)
	return plain(s, op)
}

// serve has another version served by hand, as another process does.
func serve(t testing.TB, st store.Backend, version int) {
	t.Helper()
	ctx, name := context.Background(), store.CollectionName{Name: "texts", Version: version}.String()
	if err := st.Register(ctx, "texts", version); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		var err error
		if more, err = st.Fill(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	var commits []store.Commit
	for row, err := range st.Runnable(ctx, []string{name}) {
		if err != nil {
			t.Fatal(err)
		}
		docs, err := st.Load(ctx, []store.Key{row.Key}, store.WithoutViews)
		if err != nil {
			t.Fatal(err)
		}
		view := fmt.Appendf(nil, `{"Words":["by hand"],"Seqs":[%d]}`, docs[0].Head)
		commits = append(commits, store.Commit{Key: row.Key, Epoch: docs[0].Epoch, Loaded: docs[0].Applied, Applied: docs[0].Head, View: view})
	}
	if _, err := st.Commit(ctx, commits); err != nil {
		t.Fatal(err)
	}
	if o, err := st.Switch(ctx, name, store.SwitchTerms{}); err != nil || o.Why != store.Unhindered {
		t.Fatalf("switch to %s: %v, %v", name, o.Why, err)
	}
}

// A process of the old code goes on folding its own generation when another one is
// served, says so once, never writes into the other, and reads what is served.
func TestOldCodeKeepsItsOwnGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		var log logged
		r := newDamagedRig(t, st, materializer.Config{Logger: zerolog.New(&log)}, spec()).start()
		defer r.halt()
		r.append("a", "x")
		settle()
		serve(t, st, 2)
		settle()
		token := r.append("a", "y")
		settle()
		old, err := st.Load(t.Context(), []store.Key{ownKey("a")}, store.WithViews)
		if err != nil || r.state(old[0]).String() != "x y" {
			t.Errorf("its own view is %q, %v", old[0].View, err)
		}
		v, err := r.texts.Get(t.Context(), "a")
		if err != nil || v.Version != 2 || v.State.String() != "by hand" || v.Applied != 1 || v.Head != 2 {
			t.Errorf("what is served is %+v, %v", v, err)
		}
		if v, err := r.texts.Latest(t.Context(), "a"); err != nil || v.Version != 1 || v.State.String() != "x y" {
			t.Errorf("the latest is %+v, %v", v, err)
		}
		if v, err := r.texts.Verify(t.Context(), materializer.VerifyOptions{}); err != nil || v.Different > 0 || v.Documents != 1 {
			t.Errorf("verified %+v, %v", v, err)
		}
		// Nobody folds what is served.
		ctx, cancel := context.WithTimeout(t.Context(), 1e9)
		defer cancel()
		_, err = r.texts.Get(ctx, "a", materializer.AtLeast(token))
		wantErr(t, err, context.DeadlineExceeded)
		if n := strings.Count(log.String(), "another version is served"); n != 1 {
			t.Errorf("it says %d times that another version is served: %s", n, &log)
		}
	})
}

// Views of another version are decoded by Old; without it the error names both.
func TestViewsOfAnotherVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		r := newRig(t, st, materializer.Config{}, spec()).start()
		r.append("a", "x")
		settle()
		type number struct{ N int }
		next := materializer.Spec[number, word]{
			Name: "texts", Version: 2,
			Fold:  func(n number, op operation) (number, error) { return number{n.N + 1}, nil },
			Views: strict[number]{},
		}
		read := func(old func(int, []byte) (number, error)) (materializer.View[number], error) {
			m, err := materializer.New(st, materializer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			next.Old = old
			c, err := materializer.Register(m, next)
			if err != nil {
				t.Fatal(err)
			}
			return c.Get(t.Context(), "a")
		}
		if _, err := read(nil); err == nil || !strings.Contains(err.Error(), "which version 1 made, by version 2: ") {
			t.Errorf("without Old: %v", err)
		}
		v, err := read(func(version int, view []byte) (number, error) { return number{100*version + len(view)}, nil })
		if want := 100 + len(r.load("a").View); err != nil || v.State.N != want || v.Version != 1 {
			t.Errorf("with Old: %+v, %v, want %d", v, err, want)
		}
	})
}
