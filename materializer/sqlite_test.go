package materializer_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// openSQLite opens a new store, with a table of the application in it.
func openSQLite(t testing.TB) *sqlite.Store {
	t.Helper()
	return reopenSQLite(t, filepath.Join(t.TempDir(), "app.db"))
}

func reopenSQLite(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return st
}

// unfollowed is a store that does not tell of appends by others, so that what is
// announced can be told from what is noticed.
type unfollowed struct {
	store.Backend
	store.Transactor
}

// newUsers makes a rig over SQLite with a table of the application.
func newUsers(t *testing.T) *rig {
	st := openSQLite(t)
	r := newRig(t, unfollowed{st, st}, materializer.Config{}, spec())
	err := r.m.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE users (name TEXT PRIMARY KEY)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// users counts the rows of the application's table.
func (r *rig) users() (n int) {
	r.t.Helper()
	err := r.m.Update(context.Background(), func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM users").Scan(&n)
	})
	if err != nil {
		r.t.Error(err)
	}
	return n
}

func insertUser(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO users VALUES (?)", name)
	return err
}

// Rows and operations commit together, and the view appears with no further
// append, because Update announces its documents after the commit.
func TestUpdateCommitsRowsAndOperationsTogether(t *testing.T) {
	r := newUsers(t).start()
	r.append("warm", "x")
	var appended materializer.Appended
	start := time.Now()
	err := r.m.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if err := insertUser(ctx, tx, "ann"); err != nil {
			return err
		}
		var err error
		appended, err = r.m.AppendTx(ctx, tx, r.texts.Change("ann", word{"x"}), r.texts.Change("bob", word{"y"}))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for applied := int64(0); applied == 0; time.Sleep(time.Millisecond) { // a waiting read would be a signal
		applied = r.load("bob").Applied
		if took := time.Since(start); took > 25*time.Second { // the next sweep is at 30 s
			t.Fatalf("no view %v after Update", took)
		}
	}
	if v, err := r.texts.Get(t.Context(), "ann", materializer.AtLeast(appended.Token)); err != nil || v.State.String() != "x" {
		t.Errorf("got %+v, %v, want x", v, err)
	}
	if n := r.users(); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
	r.wantClean()
}

// What fn fails with is what Update returns; nothing is stored, and the token is
// void.
func TestUpdateRolledBackStoresNothing(t *testing.T) {
	r := newUsers(t).start()
	head := int64(-1)
	for _, c := range []struct {
		name   string
		fail   func(ctx context.Context, tx *sql.Tx) error
		target error
	}{
		{"error of fn", func(context.Context, *sql.Tx) error { return errPlanted }, errPlanted},
		{"conflict", func(ctx context.Context, tx *sql.Tx) error {
			_, err := r.m.AppendTx(ctx, tx, r.texts.Change("b", word{"x"}).ExpectHead(9))
			return err
		}, materializer.ErrConflict},
		{"invalid", func(ctx context.Context, tx *sql.Tx) error {
			_, err := r.m.AppendTx(ctx, tx, r.texts.Change("", word{"x"}))
			return err
		}, materializer.ErrInvalid},
		{"plain append inside", func(ctx context.Context, tx *sql.Tx) error {
			_, err := r.texts.Append(ctx, "b", word{"x"})
			return err
		}, materializer.ErrNested},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := r.contents()
			var void materializer.Token
			err := r.m.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := insertUser(ctx, tx, "ann"); err != nil {
					return err
				}
				appended, err := r.m.AppendTx(ctx, tx, r.texts.Change("a", word{"x"}))
				if err != nil {
					return err
				}
				void, head = appended.Token, appended.Documents[0].Head
				return c.fail(ctx, tx)
			})
			wantErr(t, err, c.target)
			if after := r.contents(); after != before {
				t.Errorf("the store has\n%s, want\n%s", after, before)
			}
			if n := r.users(); n != 0 {
				t.Errorf("%d rows, want none", n)
			}
			_, err = r.texts.Get(t.Context(), "a")
			wantErr(t, err, materializer.ErrNotFound)
			if head != 1 {
				t.Errorf("head %d inside, want 1", head)
			}
			if _, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(void)); !errors.Is(err, materializer.ErrFutureToken) && !errors.Is(err, materializer.ErrNotFound) {
				t.Errorf("with the void token: %v, want it refused", err)
			}
		})
	}
}

// A store that was left with dirty documents is healed by the next process.
func TestSQLiteIsHealedAtStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	st, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	tapped := newTap(st)
	r := newRig(t, tapped, materializer.Config{}, spec()).start()
	tapped.on(atCommit, tapped.kill)
	for _, id := range numbered("d", 50) {
		r.texts.Append(t.Context(), id, word{"x"}) // until it is dead
	}
	r.halt()
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}

	next := newRig(t, reopenSQLite(t, path), materializer.Config{}, spec())
	left := len(next.dirty())
	next.start()
	if err := next.m.Wait(within(t, time.Minute), next.end()); err != nil {
		t.Error(err)
	}
	next.wantClean()
	if left == 0 {
		t.Error("nothing was dirty at the start")
	}
}

// Another process, or here another handle, appends: its documents are noticed
// within a second, though nobody waits for them.
func TestSQLiteAppendOfAnotherHandle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	r := newRig(t, reopenSQLite(t, path), materializer.Config{}, spec()).start()
	if err := r.m.Wait(t.Context(), r.append("a", "x")); err != nil {
		t.Fatal(err)
	}
	other := newRig(t, reopenSQLite(t, path), materializer.Config{}, spec())
	token := other.append("b", "y")
	start := time.Now()
	for r.load("b").Applied == 0 {
		if took := time.Since(start); took > 20*time.Second { // the next sweep is at 28 s
			t.Fatalf("no view after %v, want one within a second, or so", took)
		}
		time.Sleep(5 * time.Millisecond)
	}
	// It reads what the first one makes, and waits for it.
	if v, err := other.texts.Get(t.Context(), "b", materializer.AtLeast(token)); err != nil || v.State.String() != "y" {
		t.Errorf("got %+v, %v, want y", v, err)
	}
	token = other.append("b", "z")
	if v, err := other.texts.Get(within(t, 20*time.Second), "b", materializer.AtLeast(token)); err != nil || v.State.String() != "y z" {
		t.Errorf("got %+v, %v, want y z", v, err)
	}
	wantErr(t, other.m.Run(t.Context()), materializer.ErrClaimed)
}

// In a transaction of the application's own connection, rows and operations
// commit together too; that it was committed is noticed within a second.
func TestAppendTxInATransactionOfTheApplication(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	r := newRig(t, reopenSQLite(t, path), materializer.Config{}, spec()).start()
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_synchronous=FULL&_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, commit := range []bool{false, true} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.m.AppendTx(t.Context(), tx, r.texts.Change("a", word{"x"})); err != nil {
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
	}
	start := time.Now()
	for r.load("a").Applied == 0 {
		if took := time.Since(start); took > 20*time.Second { // the next sweep is at 28 s
			t.Fatalf("no view after %v, want one within a second, or so", took)
		}
		time.Sleep(5 * time.Millisecond)
	}
	r.wantView("a", "x", 1, 1)
}
