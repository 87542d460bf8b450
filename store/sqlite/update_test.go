package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// withTable opens a new store with a table of the application.
func withTable(t testing.TB, o *Options) *Store {
	t.Helper()
	s := fresh(t, o)
	err := s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE app (x INTEGER)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows counts the rows of the application's table.
func rows(t testing.TB, s *Store) int {
	t.Helper()
	c, err := openConn(dsn(s.path, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	r, err := c.raw.Query("SELECT count(*) FROM app", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	row := make([]driver.Value, 1)
	if err := r.Next(row); err != nil {
		t.Fatal(err)
	}
	return int(integer(row[0]))
}

func TestUpdateCommitsRowsAndOperationsTogether(t *testing.T) {
	s := withTable(t, nil)
	var token store.Token
	err := s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO app VALUES (1)"); err != nil {
			return err
		}
		got, err := s.AppendTx(ctx, tx, one("a", "1", "2"))
		token = got.Token
		if d := load(t, s, "a"); d.Head != 0 {
			t.Errorf("seen before the commit: %+v", d)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, m := rows(t, s), checkLog(t, s); n != 1 || m != 2 {
		t.Errorf("%d rows and %d operations, want 1 and 2", n, m)
	}
	if got, err := s.Resolve(t.Context(), token, []store.Key{key("a")}); err != nil || got[0] != 2 {
		t.Errorf("token resolves to %v, %v", got, err)
	}
}

// Each row is a way in which a transaction ends without a commit of ours.
func TestUpdateStoresNothing(t *testing.T) {
	own := errors.New("my own error")
	insert := func(s *Store, ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO app VALUES (1)"); err != nil {
			return err
		}
		_, err := s.AppendTx(ctx, tx, one("a", "1"))
		return err
	}
	for _, test := range []struct {
		name string
		fn   func(s *Store, ctx context.Context, tx *sql.Tx) error
		want error
	}{
		{"an error of fn", func(_ *Store, _ context.Context, _ *sql.Tx) error { return own }, own},
		{"it commits itself", func(_ *Store, _ context.Context, tx *sql.Tx) error {
			if err := tx.Commit(); !errors.Is(err, errNotYours) {
				t.Errorf("tx.Commit: %v", err)
			}
			return nil
		}, errLost},
		{"it rolls back itself", func(_ *Store, _ context.Context, tx *sql.Tx) error { tx.Rollback(); return nil }, errLost},
		{"it commits in SQL", func(_ *Store, ctx context.Context, tx *sql.Tx) error { tx.ExecContext(ctx, "COMMIT"); return nil }, errLost},
		{"it rolls back in SQL and goes on", func(s *Store, ctx context.Context, tx *sql.Tx) error {
			tx.ExecContext(ctx, "ROLLBACK")
			insert(s, ctx, tx)
			return nil
		}, errLost},
		{"it begins another one", func(s *Store, ctx context.Context, tx *sql.Tx) error {
			tx.ExecContext(ctx, "ROLLBACK")
			tx.ExecContext(ctx, "BEGIN")
			insert(s, ctx, tx)
			return nil
		}, errLost},
		{"a cancelled statement and more", func(s *Store, ctx context.Context, tx *sql.Tx) error {
			// Writing, as only that makes SQLite roll back when it is interrupted.
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			_, err := tx.ExecContext(short, `INSERT INTO app WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n`)
			if err == nil {
				t.Error("the statement was not cancelled")
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO app VALUES (2)"); err == nil {
				t.Error("a statement after the transaction was lost succeeded")
			}
			return nil
		}, errLost},
		{"settings are changed outside", func(_ *Store, ctx context.Context, tx *sql.Tx) error {
			tx.ExecContext(ctx, "ROLLBACK")
			_, err := tx.ExecContext(ctx, "PRAGMA synchronous = OFF; PRAGMA busy_timeout = 60000")
			if err != nil {
				t.Error(err)
			}
			return nil
		}, errLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := withTable(t, nil)
			err := s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := insert(s, ctx, tx); err != nil {
					t.Error(err)
				}
				return test.fn(s, ctx, tx)
			})
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if n, m := rows(t, s), checkLog(t, s); n != 0 || m != 0 {
				t.Errorf("%d rows and %d operations, want none", n, m)
			}
			// And the connection is as it was.
			mustAppend(t, s, one("a", "1"))
			if err := s.writer.conn.setUp(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAPanicInUpdateGoesOnInItsGoroutine(t *testing.T) {
	s := withTable(t, nil)
	func() {
		defer func() {
			if v := recover(); v != errTooLate {
				t.Errorf("recovered %v, want what was panicked with", v)
			}
		}()
		s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := s.AppendTx(ctx, tx, one("a", "1")); err != nil {
				t.Error(err)
			}
			panic(errTooLate)
		})
	}()
	if n := checkLog(t, s); n != 0 {
		t.Errorf("%d operations, want none", n)
	}
	mustAppend(t, s, one("a", "1"))
}

func TestWritingInsideOfUpdateIsRefusedAtOnce(t *testing.T) {
	s, other := fresh(t, nil), fresh(t, nil)
	var inner context.Context
	err := s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		inner = ctx
		for name, err := range map[string]error{
			"append":   second(s.Append(ctx, one("a", "1"))),
			"commit":   second(s.Commit(ctx, nil)),
			"resume":   second(s.Resume(ctx, nil)),
			"register": s.Register(ctx, "notes", 1),
			"pause":    s.Pause(ctx, "notes", true),
			"discard":  s.Discard(ctx, store.Discard{Key: key("a"), Seq: 1, By: "b", Why: "w"}),
			"forget":   s.Forget(ctx, key("a")),
			"drop":     s.Drop(ctx, "notes"),
			"claim":    second(s.Claim(ctx)),
			"update":   s.Update(ctx, nothingToDo),
		} {
			if !errors.Is(err, store.ErrNested) {
				t.Errorf("%s: %v", name, err)
			}
		}
		// Another store is free, and what runs in its Update knows of both.
		return other.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := s.Append(ctx, one("a", "1")); !errors.Is(err, store.ErrNested) {
				t.Errorf("append to the outer store: %v", err)
			}
			_, err := other.AppendTx(ctx, tx, one("a", "1"))
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(inner, one("a", "1")); err != nil {
		t.Errorf("on the context of an Update that has ended: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
