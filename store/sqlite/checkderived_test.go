package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

// derivedStore returns a store in which a note contributes to a tag, and a card has read a note that is
// changed since, and has a delta for that.
func derivedStore(t *testing.T) *Store {
	t.Helper()
	s := fresh(t, nil)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	commit := func(c store.Commit) {
		d := loadNamed(t, s, c.Key.Collection, c.Key.ID)
		c.Loaded, c.Epoch, c.Applied = d.Applied, d.Epoch, d.Head
		if c.Effects == nil {
			c.View = fmt.Appendf(nil, "%v at %d", c.Key, d.Head)
		} else {
			c.Effects.From = d.Round
			c.Effects.From.To = d.Head
		}
		commitOne(t, s, c)
	}
	key := func(collection, id string) store.Key { return store.Key{Collection: collection, ID: id} }
	must(s.Register(t.Context(), "notes", 1))
	must(s.Derive(t.Context(), store.Derivation{Name: "tags", Version: 1, Sources: []string{"notes"}}))
	must(s.Derive(t.Context(), store.Derivation{Name: "cards", Version: 1, Sources: []string{"notes"}}))
	for i := range 2 {
		mustAppend(t, s, one("n", fmt.Sprint(i)))
		commit(store.Commit{Key: key("notes", "n")})
		commit(store.Commit{Key: key("tags<notes", "n"), Effects: &store.Effects{Pairs: []store.Pair{{Key: "t", Body: []byte("x")}}}})
		commit(store.Commit{Key: key("cards<notes", "n"), Effects: &store.Effects{Touch: true, Pairs: []store.Pair{{Key: "c"}}}})
		if i == 0 {
			commit(store.Commit{Key: key("cards", "c"), Reads: []store.Read{{Key: key("notes", "n"), Version: loadNamed(t, s, "notes", "n").Changed}}})
		}
	}
	return s
}

// What cannot be in the tables of derived collections is found.
func TestCheckDerivedFindsDamage(t *testing.T) {
	const (
		tag    = "(SELECT document FROM refold_contributions)"
		row    = "(SELECT mapping FROM refold_contributions)"
		card   = "(SELECT document FROM refold_edges)"
		source = "(SELECT id FROM refold_documents WHERE name = 'n' AND collection > 0)"
	)
	for name, c := range map[string]struct {
		damage string
		want   []string
	}{
		"nothing":                          {"", nil},
		"a count":                          {"UPDATE refold_documents SET contributions = 2 WHERE id = " + tag, []string{"t has another number of contributions"}},
		"a contribution that is missing":   {"DELETE FROM refold_contributions", []string{"t has another number of contributions"}},
		"a contribution to another key":    {"UPDATE refold_contributions SET key = 'u'", []string{"the contribution of n to u is not where it belongs"}},
		"a contribution of another source": {"UPDATE refold_contributions SET source = 'm'", []string{"the contribution of m to t is not where it belongs", "m of the contribution to t has no view"}},
		"a contribution of another input":  {"UPDATE refold_contributions SET input = 1", []string{"is not where it belongs"}},
		"a contribution of no mapping":     {"UPDATE refold_contributions SET mapping = 999", []string{"is not where it belongs"}},
		"a contribution to no document":    {"UPDATE refold_contributions SET document = 999", []string{"of n to t is of no document", "t has another number"}},
		"a source without a view":          {"UPDATE refold_progress SET deleted = 1 WHERE document = " + source, []string{"the source n of the contribution to t has no view"}},
		"the same, and it is to be mapped": {"UPDATE refold_progress SET deleted = 1, dirty = dirty + (document <> " + source + ") WHERE document IN (" + source + ", " + row + ")", nil},
		"a reading of another generation":  {"UPDATE refold_edges SET generation = generation + 1", []string{"what c has read of n cannot be so"}},
		"a reading of later":               {"UPDATE refold_edges SET version = 1 << 40", []string{"what c has read of n cannot be so"}},
		"a reading of no source":           {"UPDATE refold_edges SET collection = 999", []string{"what c has read of n cannot be so"}},
		"a reading without a reader":       {"UPDATE refold_edges SET document = 999", []string{"a reading of n by no document"}},
		"a delta that is missing":          {"DELETE FROM refold_deltas WHERE document = " + card, []string{"the deltas of c are not those that it lacks"}},
		"a delta that is applied":          {"UPDATE refold_deltas SET seq = 1 WHERE seq = 2 AND document = " + card, []string{"the deltas of c are not those that it lacks"}},
		"a delta of no document":           {"UPDATE refold_deltas SET document = 999 WHERE document = " + card, []string{"of c are not those", "a delta of no document"}},
		"a round that is over":             {"INSERT INTO refold_fanouts VALUES (" + row + ", 1, 0, '')", []string{"the round of n cannot be so"}},
		"a round of no mapping":            {"INSERT INTO refold_fanouts VALUES (" + card + ", 2, 0, '')", []string{"the round of c cannot be so"}},
		"a round of no document":           {"INSERT INTO refold_fanouts VALUES (999, 1, 0, '')", []string{"a round of no document"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := derivedStore(t)
			err := s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if c.damage == "" {
					return nil
				}
				result, err := tx.ExecContext(ctx, c.damage)
				if err != nil {
					return err
				}
				if n, err := result.RowsAffected(); n == 0 || err != nil {
					return fmt.Errorf("%d rows were damaged: %w", n, err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			err = s.CheckDerived(t.Context())
			if (err != nil) != (len(c.want) > 0) || err != nil && !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("the check says %v, want %q", err, c.want)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the check says %v, want %q", err, want)
				}
			}
		})
	}
}
