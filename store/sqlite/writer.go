package sqlite

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mattn/go-sqlite3"
	"github.com/rs/zerolog"

	"github.com/refold-go/refold/store"
)

// writer is the goroutine that writes. It takes what waits, without a timer:
// while it commits one group, the next one gathers.
type writer struct {
	path    string
	version int64 // of the schema
	of      store.Incarnation
	salt    uint64 // of the hashes of what was forgotten
	log     zerolog.Logger
	queue   *queue
	// closing is closed when the store is being closed.
	closing <-chan struct{}
	// done is closed when the goroutine has ended.
	done chan struct{}
	// follow is told of what other connections have written.
	follow *follow
	// health is told how writing goes.
	health health
	// stray is set by an AppendTx that does not know the Update that it belongs to.
	stray atomic.Bool

	// The following fields belong to the goroutine as long as it runs.

	// conn is nil if it broke and could not be opened again yet.
	conn  *writerConn
	group []*request
	// skip is set until a transaction has left out the numbers of changes that may
	// have been seen: after a connection broke, what was committed and not synced may
	// be gone.
	skip bool
	// torn tells that the log may have a hole, and has to be emptied before the next
	// write; see torn.go.
	torn bool
	// relaxed counts what was committed without a sync since the log was last looked
	// at or synced, and long tells that the next commit is to be synced.
	relaxed int
	long    bool
}

func (w *writer) start() { go w.loop() }

func (w *writer) loop() {
	defer close(w.done)
	for {
		<-w.queue.wake
		w.checkFollow()
		for w.next() {
		}
		select {
		case <-w.closing:
			// The queue is closed before: what is in it now is all.
			for w.next() {
			}
			for _, r := range w.queue.drain() {
				if r.take() {
					r.answer(store.ErrClosed)
				}
			}
			return
		default:
		}
	}
}

// next runs one group, and reports whether there was one.
func (w *writer) next() bool {
	some, synced, single := w.queue.look()
	if !some {
		return false
	}
	if single != nil && single.alone != nil {
		w.runAlone(single)
		return true
	}
	switch err := w.begin(synced, w.anybodyWaits); {
	case err == errNobody:
		return true
	case err != nil:
		w.refuse(err)
		return true
	case single != nil:
		w.queue.remove(single)
		if single.take() {
			w.lend(single)
		} else {
			w.undo()
		}
		w.checkFollow()
		return true
	}
	w.gather()
	w.group = w.queue.take(w.group[:0], synced)
	if len(w.group) == 0 {
		w.undo()
	} else {
		w.runGroup(w.group)
	}
	clear(w.group)
	w.checkFollow()
	return true
}

// runAlone does the work of a request outside of a transaction.
func (w *writer) runAlone(r *request) {
	w.queue.remove(r)
	if !r.take() {
		return
	}
	err := w.reopen()
	if err == nil {
		w.conn.forget()
		if err = r.alone(w.conn); err != nil && !w.conn.raw.AutoCommit() {
			w.undo()
		}
		if code(err) == sqlite3.ErrIoErr {
			w.suspectLog()
		}
	}
	r.answer(classify(err))
}

// begin chooses the sync level and starts a transaction. While another process
// holds the lock it tries again, in Go, where callers can leave. It gives up
// with errNobody when nobody wants it any more, and with [store.ErrClosed] when
// the store is being closed.
func (w *writer) begin(synced bool, wanted func() bool) error {
	if err := w.reopen(); err != nil {
		return err
	}
	defer w.health.lockedSince.Store(0)
	level := SyncNormal
	if synced || w.long {
		level = SyncFull
	}
	const longest = 2 * time.Millisecond
	var timer *time.Timer
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, longest) {
		err := w.tryBegin(level)
		if c := code(err); c != sqlite3.ErrBusy && c != sqlite3.ErrLocked && !errors.Is(err, errReaders) {
			return err
		}
		if timer == nil {
			w.health.lockedSince.Store(time.Now().UnixNano())
			timer = time.NewTimer(pause)
			defer timer.Stop()
		} else {
			timer.Reset(pause)
		}
		select {
		case <-timer.C:
		case <-w.closing:
			return store.ErrClosed
		}
		w.checkFollow()
		if !wanted() {
			return errNobody
		}
	}
}

// tryBegin starts a transaction, or fails at once.
func (w *writer) tryBegin(level Sync) error {
	if err := w.mendLog(); err != nil {
		return err
	}
	if err := w.conn.sync(level); err != nil {
		return err
	}
	return w.conn.begin()
}

var errNobody = errors.New("refold: every caller has left")

func (w *writer) anybodyWaits() bool {
	some, _, _ := w.queue.look()
	return some
}

// refuse answers everybody who waits after a transaction could not be started.
func (w *writer) refuse(err error) {
	if err != store.ErrClosed {
		w.log.Warn().Err(err).Msg("refold: cannot start a transaction")
		err = fmt.Errorf("refold: starting a transaction: %w", classify(err))
		w.health.wrote(err)
		w.abandon()
	}
	for _, r := range w.queue.drain() {
		if r.take() {
			r.answer(err)
		}
	}
}

// undo rolls back. If that fails the connection is given up.
func (w *writer) undo() {
	if err := w.conn.rollback(); err != nil || !w.conn.raw.AutoCommit() {
		w.log.Warn().Err(err).Msg("refold: cannot roll back, opening the file again")
		w.abandon()
	}
}

// abandon closes the connection; the next group opens another one.
func (w *writer) abandon() {
	if w.conn == nil {
		return
	}
	if err := w.conn.shut(); err != nil {
		w.log.Warn().Err(err).Msg("refold: closing a broken connection")
	}
	w.conn = nil
}

// reopen opens the connection again if it was given up.
func (w *writer) reopen() error {
	if w.conn != nil {
		return nil
	}
	c, err := openWriter(w.path, false)
	if err != nil {
		return err
	}
	w.conn = c
	w.skip = true
	w.follow.rebase()
	return nil
}
