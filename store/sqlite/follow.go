package sqlite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/store"
)

// followEvery is how often the file is looked at while somebody follows. It
// costs one PRAGMA, a few microseconds.
const followEvery = 100 * time.Millisecond

// follow counts the times that something may have been appended without a call
// of Append on this handle.
type follow struct {
	// wanted is set to ask the writer to look at the file.
	wanted atomic.Bool

	// version and known belong to the writer: what PRAGMA data_version said last.
	version int64
	known   bool

	// mu guards the following fields.
	mu      sync.Mutex
	count   uint64
	changed chan struct{} // closed at the next count
	// following counts the calls of Follow that wait. leave is closed when there are
	// none any more, and left when nobody looks for them any more.
	following   int
	leave, left chan struct{}
}

func newFollow() *follow { return &follow{count: 1, changed: make(chan struct{})} }

// bump tells all who follow.
func (f *follow) bump() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *follow) state() (uint64, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count, f.changed
}

// rebase is called by the writer for a new connection, whose versions are others.
func (f *follow) rebase() {
	f.known = false
	f.bump()
}

// Follow implements [store.Follower].
func (s *Store) Follow(ctx context.Context, after uint64) (uint64, error) {
	joined := false
	for {
		select {
		case <-s.closing:
			return after, store.ErrClosed
		default:
		}
		if ctx.Err() != nil {
			return after, fmt.Errorf("refold: following was stopped: %w", context.Cause(ctx))
		}
		count, changed := s.follow.state()
		if count != after {
			return count, nil
		}
		if !joined {
			joined = true
			s.follow.join(s)
			defer s.follow.part()
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-s.closing:
		}
	}
}

// join counts one who waits. The first one has the file looked at now and then, for
// all.
func (f *follow) join(s *Store) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.following++; f.following > 1 {
		return
	}
	leave, left := make(chan struct{}), make(chan struct{})
	f.leave, f.left = leave, left
	go func() {
		defer close(left)
		ticker := time.NewTicker(followEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f.wanted.Store(true)
				s.writer.queue.rouse()
			case <-leave:
				return
			case <-s.closing:
				return
			}
		}
	}()
}

// part counts one who waits no more. The last one ends the looking, which blocks
// nowhere.
func (f *follow) part() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.following--; f.following == 0 {
		close(f.leave)
		<-f.left
	}
}

// checkFollow looks whether another connection has written, if somebody asked.
func (w *writer) checkFollow() {
	if w.conn == nil || !w.follow.wanted.CompareAndSwap(true, false) {
		return
	}
	w.lookAtVersion()
}

// lookAtVersion compares PRAGMA data_version, which commits of this connection
// do not change and those of every other one do.
func (w *writer) lookAtVersion() {
	v, err := w.conn.dataVersion()
	if err != nil {
		w.log.Warn().Err(err).Msg("refold: looking for writes of others")
		return
	}
	if w.follow.known && v != w.follow.version {
		w.follow.bump()
	}
	w.follow.version, w.follow.known = v, true
}
