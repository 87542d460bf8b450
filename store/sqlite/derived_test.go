package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

// Wherever the making of derived documents is cut off, who opens the file goes on to the
// same end, while others append: at each slice of a round and of a filling, and at each
// step of a new generation.
func TestDerivedCrashAtEachStep(t *testing.T) {
	s := fresh(t, nil)
	ctx := t.Context()
	if err := s.Register(ctx, "notes", 1); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		mustAppend(t, s, one(fmt.Sprint("n", i), "a1 b1", "c1 d1 e1"))
	}
	steps := make(map[string]int)
	for i := 0; ; i++ {
		if i == 40 || i == 90 {
			mustAppend(t, s, append(one("n1", "f1"), one(fmt.Sprint("late", i), "a2 g1")...))
		}
		version := 1 + i/60
		if version = min(version, 2); i%3 == 0 || testing.Short() && i%20 != 0 {
			// A third of the steps is enough for the copies.
			if step := deriving(t, s, version); step == "" && i > 130 {
				break
			} else {
				steps[step]++
			}
			continue
		}
		after := copyOf(t, s)
		for n := 0; deriving(t, after, version) != ""; n++ {
			if n > 500 {
				t.Fatal("it does not end")
			}
		}
		mustBeDerived(t, after)
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
		steps[deriving(t, s, version)]++
		if i > 600 {
			t.Fatal("it does not end")
		}
	}
	mustBeDerived(t, s)
	for step, least := range map[string]int{"fold": 6, "derive": 3, "fill": 2, "map": 20, "make": 8, "switch": 2, "retire": 1, "sweep": 1} {
		if steps[step] < least {
			t.Errorf("there were only %d steps of %s, in %v", steps[step], step, steps)
		}
	}
}

// No step of derived collections is half done.
func TestNoDerivedStepIsHalfDone(t *testing.T) {
	s := fresh(t, nil)
	ctx := t.Context()
	if err := s.Register(ctx, "notes", 1); err != nil {
		t.Fatal(err)
	}
	name := func(version int) store.CollectionName { return store.CollectionName{Name: "tags", Version: version} }
	derive := func(version int) func() work {
		return func() work {
			return &deriveWork{store.Derivation{Name: "tags", Version: version, Sources: []string{"notes"}, Deltas: true}}
		}
	}
	commit := func(c func() store.Commit) func() work {
		return func() work { return &commitWork{commits: []store.Commit{c()}} }
	}
	view := func(collection, id, view string) func() work {
		return commit(func() store.Commit {
			d := loadNamed(t, s, collection, id)
			return store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte(view)}
		})
	}
	effects := func(collection, id string, e store.Effects) func() work {
		return commit(func() store.Commit {
			d, e := loadNamed(t, s, collection, id), e
			if e.From = d.Round; e.From.To == 0 {
				e.From.To = d.Head
			}
			return store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: e.From.To, Effects: &e}
		})
	}
	pairs := func(keys ...string) (all []store.Pair) {
		for _, k := range keys {
			all = append(all, store.Pair{Key: k, Body: []byte("of " + k)})
		}
		return all
	}
	mustAppend(t, s, append(one("a", "1"), one("b", "1")...))
	stepsMustBeWhole(t, s, []wholeStep{
		{"commit what nothing is made of", view("notes", "a", "1"), nil},
		{"derive", derive(1), nil},
		{"fill", func() work { return &fillWork{name: name(1)} }, nil},
		{"tell", view("notes", "b", "1"), nil},
		{"contribute", effects("tags@1<notes", "a", store.Effects{Pairs: pairs("t", "u"), Upto: "u"}), nil},
		{"contribute the rest", effects("tags@1<notes", "a", store.Effects{Pairs: pairs("v")}), nil},
		{"make", view("tags@1", "t", "made"), nil},
		{"read", commit(func() store.Commit {
			d := loadNamed(t, s, "tags@1", "u")
			reads := []store.Read{{Key: key("a"), Version: loadNamed(t, s, "notes", "a").Changed}, {Key: key("b"), Version: 1 << 40}}
			return store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("made"), Reads: reads}
		}), nil},
		{"touch", effects("tags@1<notes", "b", store.Effects{Pairs: pairs("t"), Touch: true}), func() {
			for _, id := range []string{"t", "u", "v"} {
				d := loadNamed(t, s, "tags@1", id)
				commitOne(t, s, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("made")})
			}
		}},
		{"switch", func() work { return &switchWork{name: name(1)} }, nil},
		{"sweep", func() work { return new(sweepWork) }, nil},
		{"derive again", derive(2), nil},
		{"derive a higher one", derive(3), nil},
		{"fill again", func() work { return &fillWork{name: name(3)} }, nil},
		{"contribute again", effects("tags@3<notes", "a", store.Effects{Pairs: pairs("t", "u"), Upto: "u"}), nil},
		{"forget", func() work { return &forgetWork{key("a"), hashKey(s.writer.salt, key("a"))} }, nil},
		{"erase its operations", func() work { return new(eraseWork) }, nil},
		{"erase its effects", func() work { return new(eraseWork) }, nil},
		{"erase its effects elsewhere", func() work { return new(eraseWork) }, nil},
		{"drop", func() work { return &dropWork{"tags"} }, nil},
		{"drop the rest", func() work { return new(dropSliceWork) }, nil},
		{"drop the source", func() work { return &dropWork{"notes"} }, nil},
		{"drop the rest of it", func() work { return new(dropSliceWork) }, func() {
			for { // the generation that was retired
				w := new(sweepWork)
				if err := s.submit(ctx, newRequest(w, false, 0)); err != nil {
					t.Fatal(err)
				}
				if !w.left {
					return
				}
			}
		}},
	})
	mustBeEmpty(t, s)
}

// mustBeEmpty checks that no table has rows but those of the store itself.
func mustBeEmpty(t testing.TB, s *Store) {
	t.Helper()
	for _, table := range []string{"collections", "generations", "documents", "operations", "log", "progress", "views", "failures",
		"discards", "deltas", "contributions", "edges", "fanouts"} {
		if n := count(t, s, "refold_"+table); n != 0 {
			t.Errorf("%d rows are left of %s", n, table)
		}
	}
}

// A derived document with more than a slice of everything goes in slices, and leaves
// nothing.
func TestDerivedIsSweptInSlices(t *testing.T) {
	s := fresh(t, nil)
	ctx := t.Context()
	if err := s.Register(ctx, "notes", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Derive(ctx, store.Derivation{Name: "tags", Version: 1, Sources: []string{"notes"}, Deltas: true}); err != nil {
		t.Fatal(err)
	}
	const many = 2*sliceRows + 10
	for from := 0; from < many; from += 500 {
		var appends []store.Append
		for i := from; i < min(from+500, many); i++ {
			appends = append(appends, one(fmt.Sprint("n", i), "1")...)
		}
		mustAppend(t, s, appends)
	}
	for foldSome(t, s, "notes", 1000) > 0 {
	}
	var commits []store.Commit
	for d, err := range s.Scan(ctx, "tags<notes", "", store.WithoutViews) {
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, store.Commit{Key: d.Key, Epoch: d.Epoch, Applied: d.Head, Effects: &store.Effects{
			From: store.Round{To: d.Head}, Pairs: []store.Pair{{Key: "t", Body: []byte(strings.Repeat("x", 100))}},
		}})
	}
	if _, err := s.Commit(ctx, commits); err != nil {
		t.Fatal(err)
	}
	if d := loadNamed(t, s, "tags", "t"); d.Contributions != many || d.Head != many || count(t, s, "refold_deltas") != many {
		t.Fatalf("the document is %+v", d)
	}
	if err := s.Derive(ctx, store.Derivation{Name: "tags", Version: 2, Sources: []string{"notes"}}); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		var err error
		if more, err = s.Fill(ctx, "tags@2"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Retire(ctx, "tags@2"); err != nil {
		t.Fatal(err)
	}
	slices := 0
	for more := true; more; slices++ {
		var err error
		if more, err = s.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, s, "refold_generations"); n != 3 || slices < many/sweepDerivedDocuments {
		t.Errorf("after %d slices there are %d generations", slices, n)
	}
	if err := s.Drop(ctx, "tags"); err != nil {
		t.Fatal(err)
	}
	if err := s.Drop(ctx, "notes"); err != nil {
		t.Fatal(err)
	}
	mustBeEmpty(t, s)
}
