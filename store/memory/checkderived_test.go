package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

// derivedStore returns a store in which a note contributes to a tag, and a card has read a note that is changed
// since; and has a delta for that.
func derivedStore(t *testing.T) *Store {
	t.Helper()
	s := New(nil)
	t.Cleanup(func() { _ = s.Close() })
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	commit := func(c store.Commit) {
		t.Helper()
		docs, err := s.Load(t.Context(), []store.Key{c.Key}, store.WithViews)
		must(err)
		c.Loaded, c.Epoch = docs[0].Applied, docs[0].Epoch
		if c.Effects == nil {
			c.Applied, c.View = docs[0].Head, fmt.Appendf(nil, "%v at %d", c.Key, docs[0].Head)
		} else {
			c.Effects.From = docs[0].Round
			c.Effects.From.To = docs[0].Head
			c.Applied = docs[0].Head
		}
		outcomes, err := s.Commit(t.Context(), []store.Commit{c})
		if must(err); outcomes[0] == store.Stale {
			t.Fatalf("the commit of %s is stale", c.Key)
		}
	}
	key := func(collection, id string) store.Key { return store.Key{Collection: collection, ID: id} }
	must(s.Register(t.Context(), "notes", 1))
	must(s.Derive(t.Context(), store.Derivation{Name: "tags", Version: 1, Sources: []string{"notes"}}))
	must(s.Derive(t.Context(), store.Derivation{Name: "cards", Version: 1, Sources: []string{"notes"}}))
	for range 2 {
		_, err := s.Append(t.Context(), []store.Append{{Key: key("notes", "n"), Entries: []store.Entry{{Body: []byte("1")}}}})
		must(err)
		commit(store.Commit{Key: key("notes", "n")})
		commit(store.Commit{Key: key("tags<notes", "n"), Effects: &store.Effects{Pairs: []store.Pair{{Key: "t", Body: []byte("x")}}}})
		commit(store.Commit{Key: key("cards<notes", "n"), Effects: &store.Effects{Touch: true, Pairs: []store.Pair{{Key: "c"}}}})
		docs, err := s.Load(t.Context(), []store.Key{key("notes", "n"), key("cards", "c")}, store.WithViews)
		must(err)
		if docs[1].Applied == 0 {
			commit(store.Commit{Key: key("cards", "c"), Reads: []store.Read{{Key: key("notes", "n"), Version: docs[0].Changed}}})
		}
	}
	return s
}

// What cannot be in the tables of derived collections is found.
func TestCheckDerivedFindsDamage(t *testing.T) {
	note := store.Key{Collection: "notes", ID: "n"}
	for name, c := range map[string]struct {
		damage func(s *Store)
		want   string
	}{
		"nothing": {func(*Store) {}, ""},
		"a count": {func(s *Store) { s.collections["tags"].documents["t"].made.count++ }, "t has 1 contributions, and says 2"},
		"a contribution of no mapping's document": {func(s *Store) {
			delete(s.collections["tags"].mappingFrom("notes").documents, "n")
		}, "is of no document of the mapping"},
		"a key of a contributor": {func(s *Store) {
			s.collections["tags"].mappingFrom("notes").documents["n"].made.keys.remove("t")
		}, "is not where it belongs"},
		"a contribution that is missing": {func(s *Store) {
			d := s.collections["tags"].documents["t"]
			d.made.contributions.remove(contributor{Source: "n"})
			d.made.count--
		}, "for one to which it contributes"},
		"a source without a view":   {func(s *Store) { s.collections["notes"].documents["n"].deleted = true }, "has no view, and nothing is to be mapped"},
		"a reader that is missing":  {func(s *Store) { delete(s.collections["cards"].generation.derived.readers, note) }, "cannot be so"},
		"a reading that is missing": {func(s *Store) { s.collections["cards"].documents["c"].made.reads = nil }, "is a reader of notes/n, and has not read it"},
		"a reading of later":        {func(s *Store) { s.collections["cards"].documents["c"].made.reads[0].Version = 1 << 40 }, "cannot be so"},
		"a delta that is missing": {func(s *Store) {
			d := s.collections["cards"].documents["c"]
			d.operations[0].Seq++
		}, "are not those that it lacks"},
		"a round": {func(s *Store) {
			s.collections["tags"].mappingFrom("notes").documents["n"].made.round = store.Round{To: 1}
		}, "the round of"},
	} {
		t.Run(name, func(t *testing.T) {
			s := derivedStore(t)
			c.damage(s)
			err := s.CheckDerived(t.Context())
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the check says %v, want %q", err, c.want)
			}
		})
	}
}

// mappingFrom returns the mapping from a source.
func (c *collection) mappingFrom(source string) *generation { return c.generation.from(source) }
