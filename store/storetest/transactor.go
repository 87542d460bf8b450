package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// errFailed is what functions inside of a transaction return.
var errFailed = errors.New("failed in the test")

var transactorChecks = []check{
	{"rows and operations are stored together", func(f *fixture) {
		tr := f.transactor()
		var result store.Appended
		mustUpdate(f, tr, func(ctx context.Context, tx *sql.Tx) error {
			if err := insertRow(ctx, tx); err != nil {
				return err
			}
			var err error
			result, err = tr.AppendTx(ctx, tx, []store.Append{{Key: key("a"), Entries: []store.Entry{named("1"), {}}}})
			return err
		})
		mustBePlaced(f, result.Documents[0], 2, store.Placed{Seq: 1, Position: 1}, store.Placed{Seq: 2, Position: 2})
		mustHaveRows(f, tr, 1)
		mustResolve(f, result.Token, "[2]", key("a"))
		f.mustRun("a")
		mustBePlaced(f, f.append(key("a"), "3"), 3, store.Placed{Seq: 3, Position: 3})
	}},
	{"an error of the function is returned as it is and nothing is stored", func(f *fixture) {
		tr := f.transactor()
		f.append(key("a"), "1")
		f.unchangedBy(errFailed, func() error {
			err := tr.Update(background, func(ctx context.Context, tx *sql.Tx) error {
				mustAppendTx(f, tr, ctx, tx, key("a"))
				mustAppendTx(f, tr, ctx, tx, store.Key{Collection: "fresh", ID: "a"})
				if err := insertRow(ctx, tx); err != nil {
					return err
				}
				return errFailed
			})
			if err != errFailed { //nolint:errorlint // Update promises the very error.
				f.Errorf("error is %#v, want that of the function", err)
			}
			return err
		})
		mustHaveRows(f, tr, 0)
		mustBePlaced(f, f.append(key("a"), "2"), 2, store.Placed{Seq: 2, Position: 2})
	}},
	{"a panic rolls the transaction back", func(f *fixture) {
		tr := f.transactor()
		f.append(key("a"), "1")
		before := contents(f.T, f.b)
		func() {
			defer func() {
				if recover() != errFailed { //nolint:errorlint // The panic is passed on.
					f.Error("the panic did not come through")
				}
			}()
			_ = tr.Update(background, func(ctx context.Context, tx *sql.Tx) error {
				mustAppendTx(f, tr, ctx, tx, key("a"))
				panic(errFailed)
			})
		}()
		f.mustContain(before)
		f.append(key("a"), "the store still works")
	}},
	{"the transaction ends with the function", func(f *fixture) {
		tr := f.transactor()
		var kept *sql.Tx
		mustUpdate(f, tr, func(_ context.Context, tx *sql.Tx) error { kept = tx; return nil })
		if _, err := kept.ExecContext(background, "SELECT 1"); err == nil {
			f.Error("the transaction can be used after the function")
		}
	}},
	{"append inside of update is refused at once", func(f *fixture) {
		tr := f.transactor()
		mustUpdate(f, tr, func(ctx context.Context, tx *sql.Tx) error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			_, err := f.b.Append(ctx, []store.Append{{Key: key("a"), Entries: entries("1")}})
			if !errors.Is(err, store.ErrNested) {
				f.Errorf("Append inside of Update: %v", err)
			}
			return nil
		})
		if head := f.load(key("a")).Head; head != 0 {
			f.Errorf("the head is %d", head)
		}
	}},
	{"appends of one transaction follow each other", func(f *fixture) {
		tr := f.transactor()
		mustUpdate(f, tr, func(ctx context.Context, tx *sql.Tx) error {
			for i := range int64(3) {
				result, err := tr.AppendTx(ctx, tx, []store.Append{{Key: key("a"), Head: &i, Entries: []store.Entry{named(fmt.Sprint(i))}}})
				if err != nil {
					return err
				}
				mustBePlaced(f, result.Documents[0], i+1, store.Placed{Seq: i + 1, Position: store.Position(i + 1)})
			}
			result, err := tr.AppendTx(ctx, tx, []store.Append{{Key: key("a"), Head: new(int64(0)), Entries: []store.Entry{named("1")}}})
			if err != nil {
				return err
			}
			mustBePlaced(f, result.Documents[0], 3, store.Placed{Seq: 2, Position: 2, Duplicate: true})
			return nil
		})
	}},
	{"a refused append stores nothing of its own", func(f *fixture) {
		tr := f.transactor()
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1")}})
		reused := named("1")
		reused.Body = nil
		fine := store.Append{Key: key("fine"), Entries: entries("1")}
		for want, bad := range map[error]store.Append{
			store.ErrConflict: {Key: key("a"), Head: new(int64(7)), Entries: entries("2")},
			store.ErrIDReused: {Key: key("a"), Entries: []store.Entry{reused}},
			store.ErrInvalid:  {Key: key("a")},
		} {
			before := contents(f.T, f.b)
			mustUpdate(f, tr, func(ctx context.Context, tx *sql.Tx) error {
				if _, err := tr.AppendTx(ctx, tx, []store.Append{fine, bad}); !errors.Is(err, want) {
					f.Errorf("AppendTx: %v, want %v", err, want)
				}
				return nil
			})
			f.mustContain(before)
		}
	}},
	{"a transaction of another store is refused", func(f *fixture) {
		tr := f.transactor()
		other := f.another().(store.Transactor)
		err := other.Update(background, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tr.AppendTx(ctx, tx, []store.Append{{Key: key("a"), Entries: entries("1")}}); !errors.Is(err, store.ErrInvalid) {
				f.Errorf("AppendTx in a transaction of another store: %v", err)
			}
			return nil
		})
		if err != nil {
			f.Error(err)
		}
		if head := f.load(key("a")).Head; head != 0 {
			f.Errorf("the head is %d", head)
		}
	}},
	{"updates are one after another", func(f *fixture) {
		tr := f.transactor()
		each := small(3, 10)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range each {
					err := tr.Update(background, func(ctx context.Context, tx *sql.Tx) error {
						if err := insertRow(ctx, tx); err != nil {
							return err
						}
						head, err := countRows(ctx, tx)
						if err != nil {
							return err
						}
						_, err = tr.AppendTx(ctx, tx, []store.Append{{Key: key("a"), Head: new(head - 1), Entries: entries("1")}})
						return err
					})
					if err != nil {
						f.Errorf("Update: %v", err)
						return
					}
				}
			})
		}
		group.Wait()
		mustHaveRows(f, tr, int64(8*each))
	}},
	{"an ended context stores nothing", func(f *fixture) {
		tr := f.transactor()
		err := f.unchangedBy(store.ErrBusy, func() error {
			return tr.Update(ended(), func(context.Context, *sql.Tx) error {
				f.Error("the function was called")
				return nil
			})
		})
		if !errors.Is(err, errStopped) {
			f.Errorf("error is %v, want the context's cause", err)
		}
	}},
	{"what is appended without the context of its Update is noticed by who follows", func(f *fixture) {
		tr := f.transactor()
		after := settle(f)
		mustUpdate(f, tr, func(_ context.Context, tx *sql.Tx) error {
			mustAppendTx(f, tr, background, tx, key("a"))
			return nil
		})
		mustFollow(f, after)
	}},
	{"a transaction that the application began works too", func(f *fixture) {
		tr, db := f.transactor(), f.database()
		after := settle(f)
		tx, err := db.BeginTx(background, nil)
		if err != nil {
			f.Fatal(err)
		}
		mustAppendTx(f, tr, background, tx, key("a"))
		if err := insertRow(background, tx); err != nil {
			f.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			f.Fatal(err)
		}
		mustHaveRows(f, tr, 1)
		f.mustRun("a")
		mustFollow(f, after)

		tx, err = db.BeginTx(background, nil)
		if err != nil {
			f.Fatal(err)
		}
		before := contents(f.T, f.b)
		mustAppendTx(f, tr, background, tx, key("a"))
		if err := tx.Rollback(); err != nil {
			f.Fatal(err)
		}
		f.mustContain(before)
		mustBePlaced(f, f.append(key("a"), "2"), 2, store.Placed{Seq: 2, Position: 2})
	}},
	{"a closed store appends to no transaction", func(f *fixture) {
		tr, db := f.transactor(), f.database()
		mustClose(f)
		tx, err := db.BeginTx(background, nil)
		if err != nil {
			f.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		_, err = tr.AppendTx(background, tx, []store.Append{{Key: key("a"), Entries: entries("1")}})
		mustBeClosed(f, err)
	}},
}

// transactor returns the store in this role, with a table of the application; it
// skips if the backend does not have the role.
func (f *fixture) transactor() store.Transactor {
	f.Helper()
	tr, ok := f.b.(store.Transactor)
	if !ok {
		f.Skip("the backend is no Transactor")
	}
	mustUpdate(f, tr, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE storetest_rows (n INTEGER)")
		return err
	})
	return tr
}

// database returns the application's own handle on the database.
func (f *fixture) database() *sql.DB {
	f.Helper()
	if f.Database == nil {
		f.Skip("no handle of the application is given")
	}
	db := f.Database(f.T, f.b)
	f.Cleanup(func() {
		if err := db.Close(); err != nil {
			f.Errorf("closing the application's handle: %v", err)
		}
	})
	return db
}

// mustUpdate is Update, which must succeed, and soon.
func mustUpdate(f *fixture, tr store.Transactor, fn func(context.Context, *sql.Tx) error) {
	f.Helper()
	watchdog := time.AfterFunc(2*patience, func() { panic("storetest: Update does not return") })
	defer watchdog.Stop()
	if err := tr.Update(background, fn); err != nil {
		f.Fatalf("Update: %v", err)
	}
}

func mustAppendTx(t testing.TB, tr store.Transactor, ctx context.Context, tx *sql.Tx, k store.Key) {
	t.Helper()
	if _, err := tr.AppendTx(ctx, tx, []store.Append{{Key: k, Entries: entries("in a transaction")}}); err != nil {
		t.Errorf("AppendTx: %v", err)
	}
}

func insertRow(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO storetest_rows (n) VALUES (1)")
	return err
}

func countRows(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM storetest_rows").Scan(&n)
	return n, err
}

func mustHaveRows(f *fixture, tr store.Transactor, want int64) {
	f.Helper()
	mustUpdate(f, tr, func(ctx context.Context, tx *sql.Tx) error {
		if n, err := countRows(ctx, tx); err != nil || n != want {
			f.Errorf("the application's table has %d rows, %v, want %d", n, err, want)
		}
		return nil
	})
}
