package sqlite

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// version1 makes a file of the first version of the schema, with the statements
// that were written then. The documents of notes are clean, dirty, parked, failed,
// deleted and new; one is being erased, as the collection old is being dropped.
func version1(t testing.TB) (path string, of store.Incarnation) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	c, err := openWriter(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.shut()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c.committing.Store(true) // the statements below commit by themselves
	must(c.run(schemaVersion1))
	must(firstMeta(&c.conn))
	var incarnation int64
	must(c.query("SELECT value FROM refold_meta WHERE key = 'incarnation'", &incarnation))
	gone := hashKey(uint64(incarnation), key("gone"))
	must(c.run(fmt.Sprintf(`
		INSERT INTO refold_collections (id, name, version, serving, paused, epoch) VALUES
			(1, 'notes', 3, 1, 0, 0), (2, 'tasks', 0, 2, 1, 4294967296), (3, NULL, 1, 3, 0, 0);
		INSERT INTO refold_documents (id, collection, name, head, last) VALUES
			(1, 1, 'clean', 2, 4), (2, 1, 'dirty', 3, 9), (3, 1, 'parked', 2, 6), (4, 1, 'failed', 2, 8),
			(5, 1, 'deleted', 1, 10), (6, 2, 'new', 1, 11), (7, 0, '%[1]x', 0, 0), (8, 3, 'old', 1, 13), (9, 2, 'folded', 1, 14);
		INSERT INTO refold_operations (document, seq, position, id, kind, at, time, meta, body, discarded) VALUES
			(1, 1, 1, 'x', 'k', 1001, NULL, NULL, x'31', NULL), (1, 2, 4, NULL, '', 1004, 77, x'6d', x'', NULL),
			(2, 1, 2, NULL, 'k', 1002, NULL, NULL, x'32', NULL), (2, 2, 3, NULL, 'k', 1003, NULL, NULL, x'33', 1), (2, 3, 9, 'x', 'k', 1009, NULL, NULL, x'34', NULL),
			(3, 1, 5, NULL, 'k', 1005, NULL, NULL, x'35', NULL), (3, 2, 6, NULL, 'k', 1006, NULL, NULL, x'36', NULL),
			(4, 1, 7, NULL, 'k', 1007, NULL, NULL, x'37', NULL), (4, 2, 8, NULL, 'k', 1008, NULL, NULL, x'38', NULL),
			(5, 1, 10, NULL, 'k', 1010, NULL, NULL, x'39', NULL), (6, 1, 11, NULL, 'k', 1011, NULL, NULL, x'61', NULL),
			(7, 1, 12, NULL, 'k', 1012, NULL, NULL, x'62', NULL), (8, 1, 13, NULL, 'k', 1013, NULL, NULL, x'63', NULL), (9, 1, 14, NULL, 'k', 1014, NULL, NULL, x'64', NULL);
		INSERT INTO refold_progress (generation, document, applied, dirty, since_position, since_time, failed, attempts, not_before, parked, epoch, deleted) VALUES
			(1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0), (1, 2, 1, 1, 3, 1003, 0, 0, 0, 0, 1, 0), (1, 3, 1, 1, 6, 1006, 1, 7, 0, 1, 0, 0),
			(1, 4, 0, 1, 7, 1007, 1, 2, %[2]d, 0, 0, 0), (1, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1), (2, 6, 0, 1, 11, 1011, 0, 0, 0, 0, 4294967296, 0),
			(3, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0), (2, 9, 1, 0, 0, 0, 0, 0, 0, 0, 4294967296, 0);
		INSERT INTO refold_views (generation, document, body) VALUES (1, 1, x'76'), (1, 2, x''), (1, 3, x'77'), (3, 8, x'78'), (2, 9, x'79');
		INSERT INTO refold_failures (generation, document, name, parked, seq, error, stack, first_at, last_at) VALUES
			(1, 3, 'parked', 1, 2, 'broken', 'main.fold', 2001, 2002), (1, 4, 'failed', 0, 1, 'later', '', 2003, 2004);
		INSERT INTO refold_discards (collection, name, seq, who, why, at) VALUES (1, 'dirty', 2, 'ann', 'wrong', 3001);
		INSERT INTO refold_forgotten (hash) VALUES (x'%[1]x');
		UPDATE refold_meta SET value = 14 WHERE key = 'position';
		UPDATE refold_meta SET value = 3 WHERE key = 'generation';
		UPDATE refold_meta SET value = 1 WHERE key IN ('claimed', 'dropped');
	`, gone, time.Now().Add(time.Hour).UnixNano())))
	return path, store.Incarnation(incarnation)
}

func TestMigrationFromVersion1(t *testing.T) {
	path, of := version1(t)
	s := open(t, path, nil)
	s.sweeping.Wait()
	ctx := t.Context()
	if s.incarnation != of {
		t.Errorf("the incarnation is %x, it was %x", s.incarnation, of)
	}
	collections, err := s.Collections(ctx)
	if want := []store.Collection{{Name: "notes", Version: 3}, {Name: "tasks", Paused: true}}; err != nil || !reflect.DeepEqual(collections, want) {
		t.Errorf("collections are %+v, %v", collections, err)
	}

	at := func(n int64) time.Time { return time.Unix(0, n).UTC() }
	for _, want := range []store.Document{
		{Key: key("clean"), Changed: 1, Head: 2, Last: 4, Applied: 2, View: []byte("v")},
		{Key: key("dirty"), Changed: 2, Head: 3, Last: 9, Applied: 1, View: []byte{}, Epoch: 1, Since: store.Since{Position: 3, Time: at(1003)}},
		{Key: key("parked"), Changed: 3, Head: 2, Last: 6, Applied: 1, View: []byte("w"), Since: store.Since{Position: 6, Time: at(1006)},
			Failure: &store.Failure{Seq: 2, Attempts: 7, Error: "broken", Stack: "main.fold", Park: true, First: at(2001), Last: at(2002)}},
		{Key: key("failed"), Head: 2, Last: 8, Since: store.Since{Position: 7, Time: at(1007)},
			Failure: &store.Failure{Seq: 1, Attempts: 2, Error: "later", First: at(2003), Last: at(2004)}},
		{Key: key("deleted"), Changed: 4, Head: 1, Last: 10, Applied: 1, Deleted: true},
		{Key: key("gone")},
	} {
		if want.Head > 0 {
			want.Version = 3
			want.Epoch++ // so that what an old process has in hand is stale
		}
		got := load(t, s, want.Key.ID)
		if f := got.Failure; f != nil {
			if (f.Delay > 0) != (want.Key.ID == "failed") {
				t.Errorf("%s has to wait for %s", want.Key, f.Delay)
			}
			f.Delay = 0
			if *f != *want.Failure {
				t.Errorf("%s failed with %+v, want %+v", want.Key, *f, *want.Failure)
			}
			got.Failure, want.Failure = nil, nil
		}
		if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
			t.Errorf("document is\n\t%s\nwant\n\t%s", g, w)
		}
	}
	mustBeWhole(t, s)

	// The feed has each view once, and none is history.
	var views []string
	var cursors []store.Cursor
	for _, name := range []string{"notes", "tasks"} {
		for c, err := range s.Changes(ctx, name, store.Cursor{}, store.WithViews) {
			if err != nil {
				t.Fatal(err)
			}
			if c.History || slices.Contains(cursors, c.Cursor) {
				t.Errorf("change is %+v", c)
			}
			views, cursors = append(views, c.Document.Key.ID), append(cursors, c.Cursor)
		}
	}
	slices.Sort(views)
	if fmt.Sprint(views) != "[clean deleted dirty folded parked]" {
		t.Errorf("the feed has %v", views)
	}
	last := lastChange(t, s)
	for _, c := range cursors {
		if !c.Before(last) && c != last {
			t.Errorf("%s is beyond the last change, %s", c, last)
		}
	}
	if now := foldNext(t, s, "dirty"); !last.Before(now) {
		t.Errorf("the first new change is %s, after %s", now, last)
	}

	if _, err := s.Append(ctx, one("gone", "1")); !errors.Is(err, store.ErrForgotten) {
		t.Errorf("append to what was forgotten: %v", err)
	}
	claim, err := s.Claim(ctx)
	if err != nil || !claim.Unclean || claim.End != 14 {
		t.Errorf("the claim is %+v, %v", claim, err)
	}
	got := mustAppend(t, s, []store.Append{{Key: key("clean"), Entries: []store.Entry{{ID: "x", Kind: "k", Body: []byte("1")}, {}}}})
	if p := got.Documents[0].Operations; !p[0].Duplicate || p[0].Seq != 1 || p[1].Position != 15 {
		t.Errorf("appended %+v", p)
	}
	if err := s.Discard(ctx, store.Discard{Key: key("parked"), Seq: 2, By: "bob", Why: "too"}); err != nil {
		t.Error(err)
	}
	s.Close()

	s = open(t, path, nil) // of the last version now
	if d := load(t, s, "parked"); d.Parked() || d.Head != 2 {
		t.Errorf("document is %+v", d)
	}
	if n := count(t, s, "refold_log"); n != 13 {
		t.Errorf("the log has %d rows, want 13", n)
	}
}

// mustBeWhole compares the log, the discards and what can run.
func mustBeWhole(t testing.TB, s *Store) {
	t.Helper()
	ctx := t.Context()
	logRuns(t, s, true)
	want := []string{"clean1", "dirty1", "dirty2", "clean2", "parked1", "parked2", "failed1", "failed2", "dirty3", "deleted1", "new1", "", "", "folded1"}
	var next store.Position
	for l, err := range s.Log(ctx, store.Token{}, store.Token{}) {
		if err != nil {
			t.Fatal(err)
		}
		for next++; next < math.MaxInt && want[next-1] == ""; next++ {
		}
		if l.Position != next || fmt.Sprint(l.Key.ID, l.Seq) != want[next-1] || l.History || l.Discarded != (l.Position == 3) {
			t.Errorf("operation %d of %s in the log is %+v, want %s at %d", l.Seq, l.Key, l.Operation, want[next-1], next)
		}
		at := time.Unix(0, 1000+int64(next)).UTC()
		if l.Position == 4 {
			at = time.Unix(0, 77).UTC()
		}
		if !l.Time.Equal(at) || (l.ID == "x") != (l.Position == 1 || l.Position == 9) || (string(l.Meta) == "m") != (l.Position == 4) {
			t.Errorf("operation at %d is %+v", l.Position, l.Entry)
		}
	}
	if next != 14 {
		t.Errorf("the log ends at %d, want 14", next)
	}
	for d, err := range s.Discards(ctx, "notes") {
		if err != nil || d.Key != key("dirty") || d.Seq != 2 || d.By != "ann" || d.Why != "wrong" || d.At.UnixNano() != 3001 {
			t.Errorf("discard is %+v, %v", d, err)
		}
	}
	var runs []string
	for r, err := range s.Runnable(ctx, []string{"notes", "tasks"}) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r.Key.ID)
	}
	if fmt.Sprint(runs) != "[dirty failed]" {
		t.Errorf("runnable are %v", runs)
	}
	for cut, want := range map[store.Position]string{3: "[1 2 0]", 8: "[2 2 2]", 14: "[2 3 2]"} {
		seqs, err := s.Resolve(ctx, store.NewToken(s.incarnation, cut), []store.Key{key("clean"), key("dirty"), key("failed")})
		if err != nil || fmt.Sprint(seqs) != want {
			t.Errorf("at %d the heads are %v, %v, want %s", cut, seqs, err, want)
		}
	}
}
