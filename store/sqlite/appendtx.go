package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/refold-go/refold/store"
)

// AppendTx implements [store.Transactor]. It may fail with [store.ErrBusy] if tx
// has no write lock yet and cannot get it; a transaction that reads first should
// be begun with _txlock=immediate. After an error of SQLite the transaction can
// only be rolled back; after every other error it is as it was before the call.
// One connection can have one call at a time.
func (s *Store) AppendTx(ctx context.Context, tx *sql.Tx, appends []store.Append) (store.Appended, error) {
	if tx == nil {
		return store.Appended{}, &store.InvalidError{Field: "transaction", Got: "nil", Want: "one of this database"}
	}
	if err := store.CheckAppends(appends, s.options.MaxBody); err != nil {
		return store.Appended{}, err
	}
	select {
	case <-s.closing:
		if s.updating(ctx) == nil { // Close waits for an Update in hand
			return store.Appended{}, store.ErrClosed
		}
	default:
	}
	if ctx.Err() != nil {
		return store.Appended{}, withdrawn(ctx)
	}
	r := &txRunner{ctx: context.WithoutCancel(ctx), tx: tx}
	u := s.updating(ctx)
	if u == nil || u.tx != tx {
		if err := s.checkForeign(r); err != nil {
			return store.Appended{}, err
		}
		u = nil
		s.writer.stray.Store(true)
	}
	restore, err := r.secureDelete()
	if err != nil {
		return store.Appended{}, classify(err)
	}
	defer restore()
	w := &appendWork{appends: appends}
	if err := r.run("SAVEPOINT refold_append"); err != nil {
		return store.Appended{}, classify(err)
	}
	err = s.appendIn(r, w)
	if err != nil {
		// If SQLite has rolled back everything already there is nothing to undo.
		if uerr := r.run("ROLLBACK TO refold_append"); uerr == nil {
			r.run("RELEASE refold_append")
		}
		return store.Appended{}, classify(err)
	}
	if err := r.run("RELEASE refold_append"); err != nil {
		return store.Appended{}, classify(err)
	}
	if u != nil {
		u.mu.Lock()
		u.dirty = append(u.dirty, store.AppendedKeys(appends, w.result)...)
		u.mu.Unlock()
	}
	return w.result, nil
}

func (s *Store) appendIn(r *txRunner, w *appendWork) error {
	// Write first: a transaction that reads before it has the write lock cannot
	// get it any more if somebody has written in between.
	if _, err := r.one(bumpMeta, metaSynced); err != nil {
		return err
	}
	t := newTransaction(r, s.incarnation, s.writer.salt, time.Now())
	if err := t.checkOurs(s.writer); err != nil {
		return err
	}
	if err := w.do(t); err != nil {
		return err
	}
	return t.finish()
}

// checkForeign checks that a transaction that the application began is on our
// file, and that its commit will sync as much as our options promise.
func (s *Store) checkForeign(r *txRunner) error {
	file, err := r.pragma("SELECT file FROM pragma_database_list WHERE name = 'main'")
	if err != nil {
		return err
	}
	refuse := func(got, want string) error {
		return &store.InvalidError{Field: "transaction", Got: got, Want: want}
	}
	name := text(file)
	theirs, err := os.Stat(name)
	if name == "" || err != nil {
		return refuse(fmt.Sprintf("on %q", name), "one on "+s.path)
	}
	mine, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("refold: checking the transaction: %w", err)
	}
	if !os.SameFile(mine, theirs) {
		return refuse("on "+name, "one on "+s.path)
	}
	level, err := r.pragma("PRAGMA main.synchronous")
	if err != nil {
		return err
	}
	if got, want := integer(level), s.options.Sync; got < want.level() {
		return refuse(fmt.Sprintf("on a connection with synchronous=%d", got), fmt.Sprintf("at least %d, %s", want.level(), want))
	}
	return nil
}

// txRunner runs statements in a transaction of database/sql.
type txRunner struct {
	ctx context.Context // never cancelled: cancelling a statement would roll back all
	tx  *sql.Tx
}

func (r *txRunner) run(sql string) error {
	if _, err := r.tx.ExecContext(r.ctx, sql); err != nil {
		return &statementError{"in the application's transaction: " + sql, err}
	}
	return nil
}

func (r *txRunner) pragma(query string) (v driver.Value, err error) {
	if err := r.tx.QueryRowContext(r.ctx, query).Scan(&v); err != nil {
		return nil, fmt.Errorf("refold: checking the transaction: %w", err)
	}
	return v, nil
}

// secureDelete has the connection overwrite what it deletes, as the writing one
// does: when a page of ours is divided, rows move. restore undoes that.
func (r *txRunner) secureDelete() (restore func(), err error) {
	was, err := r.pragma("PRAGMA main.secure_delete")
	if err != nil || integer(was) == 1 {
		return func() {}, err
	}
	if _, err := r.pragma("PRAGMA main.secure_delete = ON"); err != nil {
		return nil, err
	}
	return func() {
		// It cannot fail: it only sets a flag.
		_, _ = r.pragma(fmt.Sprintf("PRAGMA main.secure_delete = %d", integer(was)))
	}, nil
}

// exec implements runner.
func (r *txRunner) exec(s statement, args ...driver.Value) error {
	_, err := r.one(s, args...)
	return err
}

// one implements runner.
func (r *txRunner) one(s statement, args ...driver.Value) (row []driver.Value, err error) {
	err = r.each(s, func(first []driver.Value) bool {
		row = first
		return false
	}, args...)
	if err == nil && row == nil && s.counts() {
		err = &statementError{s.what(), errMissing}
	}
	return row, err
}

// each implements runner.
func (r *txRunner) each(s statement, row func([]driver.Value) bool, args ...driver.Value) error {
	list := make([]any, len(args))
	for i := range args {
		list[i] = args[i]
	}
	rows, err := r.tx.QueryContext(r.ctx, s.sql(), list...)
	if err != nil {
		return &statementError{s.what(), err}
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return &statementError{s.what(), err}
	}
	for more := true; more && rows.Next(); {
		values, to := make([]driver.Value, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = (*any)(&values[i])
		}
		if err := rows.Scan(to...); err != nil {
			return &statementError{s.what(), err}
		}
		more = row(values)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return &statementError{s.what(), err}
	}
	return nil
}
