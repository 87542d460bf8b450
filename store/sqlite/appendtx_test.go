package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

func TestATokenOfATransactionThatRolledBackIsVoid(t *testing.T) {
	s := fresh(t, nil)
	var token store.Token
	s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		got, err := s.AppendTx(ctx, tx, one("a", "1"))
		if err != nil {
			t.Error(err)
		}
		token = got.Token
		return errTooLate
	})
	if _, err := s.Resolve(t.Context(), token, []store.Key{key("a")}); !errors.Is(err, store.ErrFutureToken) {
		t.Errorf("resolving it: %v", err)
	}
}

// application opens the file as an application does.
func application(t testing.TB, path, settings string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?"+settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestAppendTxInATransactionOfTheApplication(t *testing.T) {
	for _, txlock := range []string{"deferred", "immediate"} {
		t.Run(txlock, func(t *testing.T) {
			s := withTable(t, nil)
			db := application(t, s.path, "_synchronous=FULL&_txlock="+txlock)
			for _, commit := range []bool{true, false} {
				tx, err := db.Begin()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec("INSERT INTO app VALUES (1)"); err != nil {
					t.Fatal(err)
				}
				entries := []store.Entry{{ID: "x", Body: []byte("1")}, {Kind: "k", Meta: []byte("m")}}
				if _, err := s.AppendTx(t.Context(), tx, []store.Append{{Key: key("a"), Entries: entries}}); err != nil {
					t.Fatal(err)
				}
				// A refusal leaves the transaction as it was.
				wrong := int64(9)
				_, err = s.AppendTx(t.Context(), tx, []store.Append{
					{Key: key("b"), Entries: entries}, {Key: key("a"), Head: &wrong, Entries: entries[1:]},
				})
				if !errors.Is(err, store.ErrConflict) {
					t.Errorf("wrong head: %v", err)
				}
				if commit {
					err = tx.Commit()
				} else {
					err = tx.Rollback()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if n, m := rows(t, s), checkLog(t, s); n != 1 || m != 2 {
				t.Errorf("%d rows and %d operations, want 1 and 2", n, m)
			}
		})
	}
}

func TestAppendTxRefusesWhatWouldBreakThePromises(t *testing.T) {
	s, other := fresh(t, nil), fresh(t, nil)
	relaxed := open(t, filepath.Join(t.TempDir(), "relaxed.db"), &Options{Sync: SyncNormal})
	memory, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for _, test := range []struct {
		name string
		s    *Store
		db   *sql.DB
		text string // "" if it is accepted
	}{
		{"another file", s, application(t, other.path, "_synchronous=FULL"), other.path},
		{"no file", s, memory, "want one on " + s.path},
		{"less sync", s, application(t, s.path, "_synchronous=NORMAL"), "synchronous=1"},
		{"the driver's default", s, application(t, s.path, ""), "synchronous=1"},
		{"more sync", s, application(t, s.path, "_synchronous=EXTRA"), ""},
		{"as relaxed as the store", relaxed, application(t, relaxed.path, "_synchronous=NORMAL"), ""},
		{"less than relaxed", relaxed, application(t, relaxed.path, "_synchronous=OFF"), "synchronous=0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tx, err := test.db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			_, err = test.s.AppendTx(t.Context(), tx, one("a", "1"))
			if test.text == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAppendTxIsBusyWithoutTheWriteLock(t *testing.T) {
	s := withTable(t, nil)
	db := application(t, s.path, "_synchronous=FULL&_busy_timeout=10")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM app").Scan(&n); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one("a", "1")) // now its snapshot is old
	if _, err := s.AppendTx(t.Context(), tx, one("a", "2")); !errors.Is(err, store.ErrBusy) {
		t.Errorf("got %v", err)
	}
}
