package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/refold-go/refold/store"
)

// logRun is a row of refold_log.
type logRun struct{ position, document, seq, count int64 }

// logRuns checks that the rows of the log cover the positions 1 to n without a gap
// or an overlap, but for documents that were removed, and that they lead to the
// operations, and returns them.
func logRuns(t testing.TB, s *Store, removed bool) (runs []logRun) {
	t.Helper()
	var end, missing int64
	err := s.read(t.Context(), func(c *conn) error {
		rows, err := c.raw.QueryContext(background, "SELECT position, document, seq, count FROM refold_log ORDER BY position", nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		for row := make([]driver.Value, 4); rows.Next(row) == nil; {
			runs = append(runs, logRun{integer(row[0]), integer(row[1]), integer(row[2]), integer(row[3])})
		}
		if err := c.query("SELECT value FROM refold_meta WHERE key = 'position'", &end); err != nil {
			return err
		}
		return c.query(`SELECT (SELECT coalesce(sum(count), 0) FROM refold_log) - (SELECT count(*) FROM refold_log l
			JOIN refold_operations o ON o.document = l.document AND o.seq BETWEEN l.seq AND l.seq + l.count - 1
				AND o.position = l.position + o.seq - l.seq)`, &missing)
	})
	if err != nil {
		t.Fatal(err)
	}
	next := int64(1)
	for _, r := range runs {
		if r.position < next || r.position > next && !removed {
			t.Fatalf("the log has a run at %d where %d is next", r.position, next)
		}
		next = r.position + r.count
	}
	if next > end+1 || next <= end && !removed {
		t.Fatalf("the log ends before %d, the last position is %d", next, end)
	}
	if missing != 0 {
		t.Fatalf("%d operations of the log are not where it says", missing)
	}
	return runs
}

// mustHaveRuns checks the log and how many rows it has.
func mustHaveRuns(t testing.TB, s *Store, want int) {
	t.Helper()
	checkLog(t, s)
	if got := len(logRuns(t, s, false)); got != want {
		t.Errorf("the log has %d rows, want %d", got, want)
	}
}

func TestTheLogHasARowForEachRunOfOperations(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", make([]string, 100)...))
	mustHaveRuns(t, s, 1)
	mustAppend(t, s, append(one("a", "1", "2"), one("b", "1")...))
	mustHaveRuns(t, s, 3)
	// Duplicates take no position, so that what is new around them is one run.
	ids := func(all ...string) []store.Append {
		a := store.Append{Key: key("c")}
		for _, id := range all {
			a.Entries = append(a.Entries, store.Entry{ID: id})
		}
		return []store.Append{a}
	}
	mustAppend(t, s, ids("x"))
	mustAppend(t, s, ids("1", "x", "2", "1", "3"))
	mustHaveRuns(t, s, 5)
	mustAppend(t, s, ids("x", "3"))
	mustHaveRuns(t, s, 5)
	if runs := logRuns(t, s, false); runs[4].seq != 2 || runs[4].count != 3 {
		t.Errorf("the last run is %+v", runs[4])
	}
}

func TestTheLogStaysContiguousThroughRefusals(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, []store.Append{{Key: key("a"), Entries: []store.Entry{{ID: "1", Body: []byte("1")}}}})
	wrong := int64(7)
	refused := func(want error, appends ...store.Append) func() {
		return func() {
			if _, err := s.Append(context.Background(), appends); !errors.Is(err, want) {
				t.Errorf("append: %v, want %v", err, want)
			}
		}
	}
	fine := store.Append{Key: key("new"), Entries: make([]store.Entry, 3)}
	before := logCommits(t, s)
	grouped(t, s,
		func() { mustAppend(t, s, one("b", "1", "2")) },
		refused(store.ErrConflict, fine, store.Append{Key: key("a"), Head: &wrong, Entries: make([]store.Entry, 1)}),
		func() { mustAppend(t, s, one("a", "2")) },
		refused(store.ErrIDReused, fine, store.Append{Key: key("a"), Entries: []store.Entry{{}, {ID: "1", Body: []byte("other")}}}),
		func() { s.Commit(t.Context(), []store.Commit{{Key: key("a"), Loaded: 9, Applied: 9}}) },
		func() { mustAppend(t, s, one("c", "1")) },
	)
	if n := logCommits(t, s) - before; n != 1 {
		t.Errorf("%d transactions, want 1", n)
	}
	mustHaveRuns(t, s, 4)
}

// A statement that fails rolls its group back, and the others run again.
func TestTheLogStaysContiguousThroughRollbacksOfGroups(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	big := string(make([]byte, 300_000))
	for round := range 5 {
		set(t, s, "max_page_count = 1")
		grouped(t, s,
			func() { mustAppend(t, s, one("a", "2", "3")) },
			func() {
				if _, err := s.Append(t.Context(), one("b", "1", big)); !errors.Is(err, store.ErrFull) {
					t.Errorf("append: %v", err)
				}
			},
			func() { mustAppend(t, s, one("a", "4")) })
		set(t, s, "max_page_count = 1000000")
		mustHaveRuns(t, s, 1+2*(round+1))
	}
}

func TestTheLogStaysContiguousThroughTransactionsThatAreRolledBack(t *testing.T) {
	s := withTable(t, nil)
	mustAppend(t, s, one("a", "1"))
	own, wrong := errors.New("my own error"), int64(9)
	err := s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := s.AppendTx(ctx, tx, one("a", "lost", "lost")); err != nil {
			t.Error(err)
		}
		return own
	})
	if !errors.Is(err, own) {
		t.Errorf("Update: %v", err)
	}
	mustHaveRuns(t, s, 1)
	err = s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := s.AppendTx(ctx, tx, one("a", "2", "3")); err != nil {
			return err
		}
		refused := append(one("new", "x"), store.Append{Key: key("a"), Head: &wrong, Entries: make([]store.Entry, 1)})
		if _, err := s.AppendTx(ctx, tx, refused); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a wrong head: %v", err)
		}
		_, err := s.AppendTx(ctx, tx, one("b", "1"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	mustHaveRuns(t, s, 3)

	db := application(t, s.path, "_synchronous=FULL&_txlock=immediate")
	for _, commit := range []bool{false, true} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AppendTx(t.Context(), tx, one("b", "2", "3")); err != nil {
			t.Fatal(err)
		}
		if commit {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, s, one("a", "after"))
	}
	mustHaveRuns(t, s, 6)
}

func TestTheLogStaysContiguousWithTwoProcesses(t *testing.T) {
	s := fresh(t, nil)
	first, second := start(t, "append", s.path), start(t, "append", s.path)
	first.expect(t, "open")
	second.expect(t, "open")
	for i := range 200 {
		mustAppend(t, s, one(fmt.Sprint(i%10), "1", "2"))
	}
	first.finish(t)
	second.finish(t)
	mustHaveRuns(t, s, 200+500+500)
}

func TestTheLogStaysContiguousWhenAProcessIsKilled(t *testing.T) {
	s := fresh(t, nil)
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	acknowledged := 0
	for range rounds {
		c := start(t, "flood", s.path)
		c.expect(t, "open")
		var all sync.WaitGroup
		all.Go(func() {
			for range 20 {
				mustAppend(t, s, one("mine", "1"))
			}
		})
		var n int
		for n < 40 {
			if _, err := fmt.Fscanln(c.out, &n); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for { // what it said before it was killed
			if _, err := fmt.Fscanln(c.out, &n); err != nil {
				break
			}
		}
		c.Wait()
		all.Wait()
		acknowledged += 3*n + 20
		if got := checkLog(t, s); got < acknowledged {
			t.Fatalf("%d operations, %d were acknowledged", got, acknowledged)
		}
		logRuns(t, s, false)
		acknowledged = checkLog(t, s)
	}
}

func TestTheLogWithoutWhatIsForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, nil)
	for i := range 5 {
		mustAppend(t, s, append(one("gone", "1", "2"), one("stays", fmt.Sprint(i))...))
	}
	if err := s.Forget(t.Context(), key("gone")); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one("stays", "5"))
	for range 2 {
		if got := len(logRuns(t, s, true)); got != 6 {
			t.Errorf("%d rows of the log are left, want 6", got)
		}
		i := 0
		for l, err := range s.Log(t.Context(), store.Token{}, store.Token{}) {
			if err != nil {
				t.Fatal(err)
			}
			want := store.Position(3 * (i + 1))
			if i == 5 {
				want = 16
			}
			if l.Key != key("stays") || string(l.Body) != fmt.Sprint(i) || l.Position != want {
				t.Errorf("operation %d is %+v", i, l)
			}
			i++
		}
		if i != 6 {
			t.Errorf("the log has %d operations, want 6", i)
		}
		s.Close()
		s = open(t, path, nil)
	}
}

// A document whose operations are erased in slices has none in the log, and the
// rows of the log go with them.
func TestTheLogWhileADocumentIsErased(t *testing.T) {
	s := fresh(t, nil)
	n := 2*sliceRows + 100
	mustAppend(t, s, []store.Append{{Key: secretKey, Entries: make([]store.Entry, n)}})
	for range 10 {
		mustAppend(t, s, append(one(secretKey.ID, "1"), one("a", "1")...))
	}
	hash := hashKey(s.writer.salt, secretKey)
	slice := func() *eraseWork { return &eraseWork{name: fmt.Sprintf("%x", hash), only: true} }
	works := []work{&forgetWork{secretKey, hash}, slice(), slice(), slice(), slice()}
	for i, w := range works {
		if err := s.submit(t.Context(), newRequest(w, true, 0)); err != nil {
			t.Fatal(err)
		}
		got := 0
		for l, err := range s.Log(t.Context(), store.Token{}, store.Token{}) {
			if err != nil {
				t.Fatal(err)
			}
			if got++; l.Key != key("a") || l.Position != store.Position(n+2*got) {
				t.Fatalf("after %d steps operation %d of %s is in the log", i, l.Seq, l.Key)
			}
		}
		if got != 10 {
			t.Fatalf("after %d steps the log has %d operations, want 10", i, got)
		}
	}
	if got := len(logRuns(t, s, true)); got != 10 {
		t.Errorf("%d rows of the log are left, want 10", got)
	}
}
