package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/store"
)

// work is what a request wants to be done in a transaction. do makes all its
// checks before its first write, so that a refusal has nothing to undo, and may
// be called again after a rollback. A [*statementError] ends the transaction of
// the whole group; any other error is a refusal, and for the request alone.
type work interface {
	do(t *transaction) error
}

// The states of a request. The writer takes it, or its caller withdraws it.
//
//	waiting ──writer, in a transaction──▶ taken ──▶ answered
//	waiting ──caller, at the end of its context──▶ withdrawn
const (
	waiting uint32 = iota
	taken
	withdrawnByCaller
)

// A request waits in the writer's queue.
type request struct {
	work work
	// synced tells that its transaction must be synced.
	synced bool
	// size is about how many bytes it writes.
	size int
	// by is until when it lets others pass; zero is not at all.
	by time.Time

	state atomic.Uint32
	// left is set by a caller whose context ended when the request was taken: it
	// waits for what becomes of it, and wants it no more if nothing has yet.
	left atomic.Bool
	// done is closed when err is set.
	done chan struct{}
	err  error

	// lend is set for the request of Update, which runs alone: the writer sends
	// the transaction on it, and its caller says on verdict whether to commit.
	lend    chan *sql.Tx
	verdict chan bool

	// alone is set for work that the writer does outside of a transaction.
	alone func(c *writerConn) error
}

// single reports whether the request is never grouped with others.
func (r *request) single() bool { return r.lend != nil || r.alone != nil }

func newRequest(w work, synced bool, size int) *request {
	return &request{work: w, synced: synced, size: size, done: make(chan struct{})}
}

// take marks the request as taken, unless its caller has withdrawn it.
func (r *request) take() bool { return r.state.CompareAndSwap(waiting, taken) }

func (r *request) answer(err error) {
	r.err = err
	close(r.done)
}

// submit hands a request to the writer and waits for the answer, or until ctx
// ends and the request has not been taken.
func (s *Store) submit(ctx context.Context, r *request) error {
	if err := s.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if s.withdraw(r) {
			return withdrawn(ctx)
		}
		r.left.Store(true)
		<-r.done
		if errors.Is(r.err, errNobody) {
			return withdrawn(ctx)
		}
	}
	return r.err
}

// withdraw takes a request back, and reports whether that was in time.
func (s *Store) withdraw(r *request) bool {
	if !r.state.CompareAndSwap(waiting, withdrawnByCaller) {
		return false
	}
	s.writer.queue.remove(r)
	return true
}

// enqueue puts a request into the queue, if its caller may write.
func (s *Store) enqueue(ctx context.Context, r *request) error {
	if s.updating(ctx) != nil {
		return store.ErrNested
	}
	if ctx.Err() != nil {
		return withdrawn(ctx)
	}
	return s.writer.queue.push(r)
}
