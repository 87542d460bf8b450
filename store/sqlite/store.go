package sqlite

import (
	"errors"
	"sync"

	"github.com/rs/zerolog"

	"github.com/refold-go/refold/store"
)

// Store is an open SQLite file. Its methods may be called at once from any
// number of goroutines.
type Store struct {
	path        string
	options     Options
	log         zerolog.Logger
	incarnation store.Incarnation

	listeners store.Listeners

	readers readers
	writer  *writer
	follow  *follow

	// closing is closed when Close begins.
	closing   chan struct{}
	closeOnce sync.Once

	// claimMu guards the following field.
	claimMu sync.Mutex
	claims  map[*claim]struct{} // those of this handle

	// sweeping is the goroutine of sweep, if there is one. Close waits for it.
	sweeping sync.WaitGroup
}

var (
	_ store.Backend    = (*Store)(nil)
	_ store.Follower   = (*Store)(nil)
	_ store.Transactor = (*Store)(nil)
	_ store.Checker    = (*Store)(nil)

	_ store.DerivedChecker = (*Store)(nil)
)

func newStore(path string, o Options, log zerolog.Logger, c *writerConn) *Store {
	s := &Store{
		path: path, options: o, log: log,
		follow:  newFollow(),
		closing: make(chan struct{}),
	}
	s.writer = &writer{
		path: path, log: log, conn: c,
		queue: newQueue(), closing: s.closing, follow: s.follow,
		done: make(chan struct{}),
	}
	return s
}

// Listen implements [store.Announcer].
func (s *Store) Listen(l store.Listener) (stop func()) { return s.listeners.Listen(l) }

// Close ends the store. Calls in hand are waited for, and what waits to be
// written is written, unless another process holds the write lock: then it is
// refused with [store.ErrClosed], like every later call. A stream in hand ends
// with that at its next page. Close gives up the claim. Calling it again waits
// for the first call and returns nil.
func (s *Store) Close() error {
	var err error
	s.closeOnce.Do(func() { err = s.shut() })
	return err
}

func (s *Store) shut() error {
	s.writer.queue.close()
	close(s.closing)
	s.listeners.Closed()
	s.writer.queue.rouse()
	<-s.writer.done
	s.sweeping.Wait()
	// The connection that is closed last copies the log into the file and removes
	// it; a reading one may not.
	err := s.readers.close()
	if s.writer.conn != nil {
		err = errors.Join(err, s.writer.conn.shut())
	}
	return errors.Join(err, s.giveUpClaims())
}
