package sqlite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

// In these tests notes have views of words. tags are made from them by contributions:
// one for each word, to the tag of its first letter; sums are made from tags, by reading
// all: there is one.

// tagsOf is what a view of notes says, in order.
func tagsOf(view string) (pairs []store.Pair) {
	byTag := make(map[string]string)
	for _, word := range strings.Fields(view) {
		byTag[word[:1]] += word + " "
	}
	for tag, words := range byTag {
		pairs = append(pairs, store.Pair{Key: tag, Body: []byte(words)})
	}
	slices.SortFunc(pairs, func(a, b store.Pair) int { return strings.Compare(a.Key, b.Key) })
	return pairs
}

// loadNamed loads a document with its view.
func loadNamed(t testing.TB, s *Store, name, id string) store.Document {
	t.Helper()
	docs, err := s.Load(background, []store.Key{{Collection: name, ID: id}}, store.WithViews)
	if err != nil {
		t.Fatal(err)
	}
	return docs[0]
}

func commitOne(t testing.TB, s *Store, c store.Commit) store.Outcome {
	t.Helper()
	outcomes, err := s.Commit(background, []store.Commit{c})
	if err != nil {
		t.Fatal(err)
	}
	if outcomes[0] == store.Stale {
		t.Fatalf("the commit of %s is stale", c.Key)
	}
	return outcomes[0]
}

// first returns the first runnable document of a name; Head is 0 if there is none.
func first(t testing.TB, s *Store, name string) (d store.Document) {
	t.Helper()
	for r, err := range s.Runnable(background, []string{name}) {
		if err != nil {
			t.Fatal(err)
		}
		return loadNamed(t, s, name, r.Key.ID)
	}
	return d
}

// mapOne commits a slice of at most so many keys of a document of a mapping.
func mapOne(t testing.TB, s *Store, d store.Document, source string, keys int, pairs func(store.Document) []store.Pair, touch bool) {
	t.Helper()
	e := &store.Effects{From: d.Round, Touch: touch}
	if e.From.To == 0 {
		e.From.To = d.Head
	}
	if !e.From.Readers {
		for _, p := range pairs(loadNamed(t, s, source, d.Key.ID)) {
			if p.Key > e.From.After {
				e.Pairs = append(e.Pairs, p)
			}
		}
		if len(e.Pairs) > keys {
			e.Pairs = e.Pairs[:keys]
			e.Upto = e.Pairs[keys-1].Key
		}
	}
	commitOne(t, s, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: e.From.To, Effects: e})
}

// reduceOne commits the view of a tag: its contributions.
func reduceOne(t testing.TB, s *Store, d store.Document) {
	t.Helper()
	view := ""
	for after := (store.Contributor{}); ; {
		some, err := s.Contributions(background, d.Key, after, store.Budget{Operations: 2})
		if err != nil {
			t.Fatal(err)
		}
		if len(some) == 0 {
			break
		}
		for _, c := range some {
			view += fmt.Sprint(c.Source, "=", string(c.Body))
			after = c.Contributor
		}
	}
	commitOne(t, s, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte(view), Deleted: view == ""})
}

// buildOne commits the view of the sum of tags, which reads them all.
func buildOne(t testing.TB, s *Store, d store.Document) {
	t.Helper()
	c := store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head}
	for tag := 'a'; tag <= 'h'; tag++ {
		read := loadNamed(t, s, "tags", string(tag))
		c.Reads = append(c.Reads, store.Read{Key: read.Key, Version: read.Changed})
		c.View = append(append(c.View, read.View...), '|')
	}
	commitOne(t, s, c)
}

// deriving does the next step of making tags and sums, at a version of tags, and says
// which one it was; none if everything is done.
func deriving(t testing.TB, s *Store, version int) string {
	t.Helper()
	ctx := background
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	collections, err := s.Collections(ctx)
	must(err)
	has := func(name string) bool {
		return slices.ContainsFunc(collections, func(c store.Collection) bool { return c.Name == name })
	}
	unfilled := func(name string) (is, building bool) {
		generations, err := s.Generations(ctx, name)
		must(err)
		for _, g := range generations {
			if g.State == store.Building || g.State == store.Serving && !g.Filled {
				return !g.Filled, g.State == store.Building
			}
		}
		return false, false
	}
	words := func(d store.Document) []store.Pair { return tagsOf(string(d.View)) }
	sum := func(store.Document) []store.Pair { return []store.Pair{{Key: "sum"}} }
	if d := first(t, s, "notes"); d.Head > 0 {
		operations, err := s.Operations(ctx, []store.Range{{Key: d.Key}}, store.Budget{})
		must(err)
		view := ""
		for _, op := range operations[0] {
			view += string(op.Body) + " "
		}
		commitOne(t, s, store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte(view)})
		return "fold"
	}
	if !has("tags") || len(generationsOf(t, s, "tags", version)) == 0 {
		must(s.Derive(ctx, store.Derivation{Name: "tags", Version: version, Sources: []string{"notes"}, Deltas: true}))
		return "derive"
	}
	if !has("sums") {
		must(s.Derive(ctx, store.Derivation{Name: "sums", Version: 1, Sources: []string{"tags"}}))
		return "derive"
	}
	for _, name := range []string{"tags", "sums"} {
		full := fmt.Sprint(name, "@", map[string]int{"tags": version, "sums": 1}[name])
		is, building := unfilled(name)
		if is {
			_, err := s.Fill(ctx, full)
			must(err)
			return "fill"
		}
		if d := first(t, s, full+"<"+map[string]string{"tags": "notes", "sums": "tags"}[name]); d.Head > 0 {
			if name == "tags" {
				mapOne(t, s, d, "notes", 2, words, false)
			} else {
				mapOne(t, s, d, "tags", 1, sum, true)
			}
			return "map"
		}
		if d := first(t, s, full); d.Head > 0 {
			if name == "tags" {
				reduceOne(t, s, d)
			} else {
				buildOne(t, s, d)
			}
			return "make"
		}
		if building {
			o, err := s.Switch(ctx, full, store.SwitchTerms{})
			if must(err); o.Why != store.Unhindered {
				t.Fatalf("in the way of %s is %+v", full, o)
			}
			return "switch"
		}
	}
	for _, g := range generationsOf(t, s, "tags", 0) {
		if g.State == store.Kept {
			must(s.Retire(ctx, fmt.Sprint("tags@", g.Version)))
			return "retire"
		}
	}
	if more, err := s.Sweep(ctx); err != nil || more {
		must(err)
		return "sweep"
	}
	return ""
}

// generationsOf returns those of a collection, of one version unless it is 0.
func generationsOf(t testing.TB, s *Store, name string, version int) []store.Generation {
	t.Helper()
	all, err := s.Generations(background, name)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(g store.Generation) bool { return version != 0 && g.Version != version })
}

// mustBeDerived checks that tags and sums are what is computed of the notes from scratch,
// and that nothing is left of the way there.
func mustBeDerived(t testing.TB, s *Store) {
	t.Helper()
	if err := s.CheckDerived(background); err != nil {
		t.Error(err)
	}
	want := make(map[string]string)
	contributions := int64(0)
	for d, err := range s.Scan(background, "notes", "", store.WithViews) {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range tagsOf(string(d.View)) {
			want[p.Key] += fmt.Sprint(d.Key.ID, "=", string(p.Body))
			contributions++
		}
	}
	var sum []byte
	for tag := 'a'; tag <= 'h'; tag++ {
		d := loadNamed(t, s, "tags", string(tag))
		if got := string(d.View); got != want[string(tag)] || d.Dirty() {
			t.Fatalf("tag %c is %q, want %q", tag, got, want[string(tag)])
		}
		sum = append(append(sum, d.View...), '|')
	}
	if d := loadNamed(t, s, "sums", "sum"); string(d.View) != string(sum) || d.Dirty() {
		t.Fatalf("the sum is %q, want %q", d.View, sum)
	}
	for table, n := range map[string]int64{"deltas": 0, "fanouts": 0, "contributions": contributions, "edges": 8} {
		if got := count(t, s, "refold_"+table); got != n {
			t.Fatalf("there are %d %s, want %d", got, table, n)
		}
	}
}
