package sqlite

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/refold-go/refold/store"
)

// gather lets those run whom the last group has answered, and who are about to come
// back, for as long as more come. It costs a lone one nothing: there is no timer.
// Letting them run once made groups of 8 appenders a third larger; going on makes
// groups of 64 another sixth larger, and appends as much faster.
func (w *writer) gather() {
	for came := 0; ; {
		runtime.Gosched()
		n := w.queue.length()
		if n <= came {
			return
		}
		came = n
	}
}

// runGroup runs requests in the transaction that has begun, commits, and answers
// them. A request that is refused does not keep the others from being stored.
//
// A statement that fails (no space, an I/O error, no memory) ends the group:
// everything is rolled back and each request runs again by itself, so that only
// the one at fault has to bear it.
func (w *writer) runGroup(group []*request) {
	err := w.attempt(group)
	if errors.Is(err, errUnsynced) {
		err = w.begin(true, func() bool {
			return slices.ContainsFunc(group, func(r *request) bool { return !r.left.Load() })
		})
		switch {
		case err == nil:
			err = w.attempt(group)
		case err == errNobody:
			for _, r := range group {
				r.answer(err)
			}
			return
		default:
			err = fmt.Errorf("refold: starting a transaction: %w", classify(err))
		}
	}
	w.health.wrote(err)
	if err == nil {
		for _, r := range group {
			close(r.done) // its error is set
		}
		return
	}
	if len(group) == 1 || errors.Is(err, store.ErrInDoubt) {
		for _, r := range group {
			r.answer(err)
		}
		return
	}
	w.log.Warn().Err(err).Int("requests", len(group)).Msg("refold: a transaction failed, trying its requests one by one")
	for i, r := range group {
		switch err := w.begin(r.synced, func() bool { return !r.left.Load() }); {
		case err == errNobody:
			r.answer(err)
			continue
		case err != nil:
			w.health.wrote(err)
			r.answer(fmt.Errorf("refold: starting a transaction: %w", classify(err)))
			continue
		}
		w.runGroup(group[i : i+1])
	}
}

// attempt runs and commits a group. After an error nothing is stored, but for
// [store.ErrInDoubt], and the transaction has ended.
func (w *writer) attempt(group []*request) error {
	t := newTransaction(&w.conn.conn, w.of, w.salt, time.Now())
	t.synced, t.skip = w.conn.level >= SyncFull.level(), w.skip
	known, err := w.conn.recall(t, group)
	if err == nil && !known {
		err = t.checkOurs(w)
	}
	if err != nil {
		return w.failed(err)
	}
	size := 0
	for _, r := range group {
		r.err = r.work.do(t)
		if isStatementError(r.err) {
			return w.failed(r.err)
		}
		size += r.size
	}
	if err := t.finish(); err != nil {
		return w.failed(err)
	}
	if err := w.commit(w.conn.commit); err != nil {
		return err
	}
	w.conn.retain(t)
	if t.changes.moved {
		w.skip = false
	}
	w.of = t.of // it is another one after Renew
	w.committed(size)
	return nil
}

// failed rolls back after a statement that failed.
func (w *writer) failed(err error) error {
	w.undo()
	if isSyncError(err) {
		w.suspectLog()
	}
	return classify(err)
}

func isStatementError(err error) bool {
	_, ok := errors.AsType[*statementError](err)
	return ok
}

// commit ends the transaction with what run does, and says what a failure of it
// means.
//
// SQLite reports "full" only for a write of the log that did not fit. The commit
// frame is the last one written and its checksum covers all before it, so that
// nothing is stored then. Any other failure may be that of the sync after it.
func (w *writer) commit(run func() error) error {
	err := run()
	if err == nil {
		return nil
	}
	open := !w.conn.raw.AutoCommit()
	w.undo()
	switch c := code(err); {
	case c == sqlite3.ErrFull:
		return fmt.Errorf("%w: committing: %w", store.ErrFull, err)
	case open && (c == sqlite3.ErrBusy || c == sqlite3.ErrLocked):
		return fmt.Errorf("refold: committing: %w", classify(err))
	}
	w.log.Warn().Err(err).Msg("refold: a commit failed, and it is unknown whether it is stored; opening the file again")
	w.suspectLog()
	return fmt.Errorf("%w: committing: %w", store.ErrInDoubt, err)
}
