package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/refold-go/refold/store"
)

// errLost means that the transaction of an Update ended before its function did.
var errLost = errors.New("refold: the transaction of Update was ended inside of it, by a commit or rollback, or by a statement whose context was cancelled; nothing was stored")

// updateKey is the key of a context that belongs to an Update.
type updateKey struct{}

// update is an Update that runs.
type update struct {
	of     *Store
	tx     *sql.Tx
	ended  atomic.Bool
	parent *update // of another store, if one is nested in the other

	// mu guards the following field.
	mu    sync.Mutex
	dirty []store.Key // what AppendTx made dirty, to be announced
}

// updating returns the Update of this store that ctx belongs to, nil if there is
// none.
func (s *Store) updating(ctx context.Context) *update {
	u, _ := ctx.Value(updateKey{}).(*update)
	for ; u != nil; u = u.parent {
		if u.of == s && !u.ended.Load() {
			return u
		}
	}
	return nil
}

// Update implements [store.Transactor]. fn runs in the caller's goroutine. The
// context that it gets has the values of ctx but does not end with it: a
// cancelled statement makes SQLite roll back the whole transaction. If fn brings
// a context of its own and that happens, Update returns an error and nothing is
// stored. While fn runs nobody else can append, so it should be short. It may
// read from the store, which does not show what the transaction has written.
// After a panic of fn the transaction is rolled back and the panic goes on.
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	if fn == nil {
		return &store.InvalidError{Field: "function of Update", Got: "nil", Want: "a function"}
	}
	r := newRequest(nil, true, 0)
	r.lend = make(chan *sql.Tx, 1)
	r.verdict = make(chan bool, 1)
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	var tx *sql.Tx
	select {
	case tx = <-r.lend:
	case <-r.done:
		return r.err
	case <-ctx.Done():
		if s.withdraw(r) {
			return withdrawn(ctx)
		}
		select {
		case tx = <-r.lend:
		case <-r.done:
			return r.err
		}
	}
	parent, _ := ctx.Value(updateKey{}).(*update)
	u := &update{of: s, tx: tx, parent: parent}
	err := s.call(context.WithValue(context.WithoutCancel(ctx), updateKey{}, u), u, r, fn)
	if err != nil {
		return err
	}
	if r.err == nil {
		s.listeners.Dirty(u.dirty)
	}
	return r.err
}

// call runs fn and gives the transaction back, also if fn panics or ends its
// goroutine. When it returns, the transaction has ended.
func (s *Store) call(ctx context.Context, u *update, r *request, fn func(context.Context, *sql.Tx) error) error {
	good := false
	defer func() {
		u.ended.Store(true)
		r.verdict <- good
		<-r.done
	}()
	err := fn(ctx, u.tx)
	good = err == nil
	return err
}

// lend runs the request of an Update, in the transaction that has begun.
func (w *writer) lend(r *request) {
	w.conn.forget()
	tx, err := w.conn.pinned.BeginTx(background, nil)
	if err != nil {
		w.undo()
		w.abandon()
		r.answer(fmt.Errorf("refold: lending the transaction: %w", err))
		return
	}
	r.lend <- tx
	good := <-r.verdict
	lost := w.conn.lost.Load() || w.conn.raw.AutoCommit()
	switch {
	case good && !lost:
		err = w.commit(func() error {
			w.conn.committing.Store(true)
			defer w.conn.committing.Store(false)
			return tx.Commit()
		})
		w.health.wrote(err)
		if err == nil && w.stray.Swap(false) {
			// Somebody appended in a transaction, perhaps in this one, without the context
			// of its Update, so that it will not be announced.
			w.follow.bump()
		}
	default:
		tx.Rollback() // of a transaction that has ended it is an error
		w.undo()
		if good {
			err = errLost
		}
	}
	if w.conn != nil {
		// What fn ran may have changed settings. This takes some 50 µs.
		if serr := w.conn.restore(); serr != nil {
			w.log.Warn().Err(serr).Msg("refold: settings of a connection are not as they were, opening the file again")
			w.abandon()
		}
	}
	r.answer(err)
}
