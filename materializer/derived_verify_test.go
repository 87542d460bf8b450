package materializer_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
)

// Verify of derived collections finds what was changed behind the engine: a view, a contribution, one
// that is missing, one that is too much, and a document that is missing; and what other functions make of
// the same sources.
func TestVerifyDerivedFindsDamage(t *testing.T) {
	document := func(id string) string {
		return "document = (SELECT d.id FROM refold_documents AS d WHERE d.name = '" + id + "' AND d.collection < 0 AND EXISTS (SELECT 1 FROM refold_views AS v WHERE v.document = d.id))"
	}
	const b = "source = 'b'"
	for _, c := range []struct {
		name           string
		damage         []string
		authors, cards []string
	}{
		{name: "nothing"},
		{name: "the view of a derived document",
			damage:  []string{`UPDATE refold_views SET body = CAST('{"Lines":7}' AS BLOB) WHERE ` + document("ann")},
			authors: []string{"ann: damaged view at seq 2 of 2"}},
		{name: "the view of a document that is built",
			damage: []string{`UPDATE refold_views SET body = CAST('{"Lines":7}' AS BLOB) WHERE ` + document("c")},
			cards:  []string{"c: damaged view at seq 1 of 1"}},
		{name: "a contribution, and the view that is made of it",
			damage: []string{
				`UPDATE refold_contributions SET body = CAST('{"Author":"ann","Lines":9}' AS BLOB) WHERE ` + b,
				`UPDATE refold_views SET body = CAST('{"Lines":10,"Files":["0/a","0/b"]}' AS BLOB) WHERE ` + document("ann"),
			},
			authors: []string{"ann: wrong contribution at seq 2 of 2, of [files/b]"}},
		{name: "a contribution that is missing",
			damage: []string{
				`DELETE FROM refold_contributions WHERE ` + b,
				`UPDATE refold_documents SET contributions = 1 WHERE contributions = 2`,
				`UPDATE refold_views SET body = CAST('{"Lines":1,"Files":["0/a"]}' AS BLOB) WHERE ` + document("ann"),
			},
			authors: []string{"ann: wrong contribution at seq 0 of 0, of [files/b]"}},
		{name: "a contribution to another document",
			damage: []string{
				`UPDATE refold_contributions SET document = (SELECT document FROM refold_contributions WHERE source = 'c'), key = 'bob' WHERE ` + b,
				`UPDATE refold_documents SET contributions = 1 WHERE contributions = 2`,
				`UPDATE refold_documents SET contributions = 2 WHERE id = (SELECT document FROM refold_contributions WHERE source = 'c')`,
				`UPDATE refold_views SET body = CAST('{"Lines":1,"Files":["0/a"]}' AS BLOB) WHERE ` + document("ann"),
				`UPDATE refold_views SET body = CAST('{"Lines":5,"Files":["0/b","0/c"]}' AS BLOB) WHERE ` + document("bob"),
			},
			authors: []string{"bob: wrong contribution at seq 1 of 1, of [files/b]", "ann: wrong contribution at seq 0 of 0, of [files/b]"}},
		{name: "a source, of which it is not told",
			damage:  []string{`UPDATE refold_views SET body = CAST('{"Author":"ann","Lines":5}' AS BLOB) WHERE document = (SELECT id FROM refold_documents WHERE name = 'b' AND collection > 0)`},
			authors: []string{"ann: wrong contribution at seq 2 of 2, of [files/b]"},
			cards:   []string{"b: damaged view at seq 1 of 1"}},
		{name: "a document that is missing",
			damage: []string{
				`DELETE FROM refold_progress WHERE ` + document("c"),
				`DELETE FROM refold_documents WHERE name = 'c' AND id IN (SELECT document FROM refold_edges)`,
			},
			cards: []string{"c: wrong contribution at seq 0 of 0, of [files/c]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app.db")
			r := newDerivedRig(t, reopenSQLite(t, path), materializer.Config{})
			authors := must(materializer.ByContributions(r.m, authorsOf(byAuthor(r.files))))(t)
			cards := must(materializer.ByReads(r.m, cardsOf(r.files)))(t)
			run := (&rig{t: t, m: r.m}).start()
			defer run.haltCleanly(t)()
			ctx := within(t, time.Minute)
			for id, f := range map[string]file{"a": {Author: "ann", Lines: 1}, "b": {Author: "ann", Lines: 2}, "c": {Author: "bob", Lines: 3}} {
				must(r.files.Append(ctx, id, f))(t)
				if err := r.m.Drain(ctx); err != nil {
					t.Fatal(err)
				}
			}
			db := must(sql.Open("sqlite3", "file:"+path+"?_busy_timeout=5000"))(t)
			defer func() { _ = db.Close() }()
			for _, statement := range c.damage {
				if n := must(must(db.ExecContext(ctx, statement))(t).RowsAffected())(t); n == 0 {
					t.Fatalf("nothing was damaged by %s", statement)
				}
			}
			for what, v := range map[string]struct {
				verify func(context.Context, materializer.VerifyOptions) (materializer.Verified, error)
				want   []string
			}{"authors": {authors.Verify, c.authors}, "cards": {cards.Verify, c.cards}} {
				found := must(v.verify(ctx, materializer.VerifyOptions{}))(t)
				var got []string
				for _, d := range found.Differences {
					got = append(got, d.String())
				}
				if !slices.Equal(got, v.want) || found.Different != int64(len(v.want)) {
					t.Errorf("%s: %d differ: %q, want %q", what, found.Different, got, v.want)
				}
			}
		})
	}
}
