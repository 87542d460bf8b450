package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/refold-go/refold/store"
)

// claim is a lock on the file FILE.lock. The system gives it up when the process
// ends, however it ends, so that no time limit has to guess whether it lives. A
// mark in the database tells the next one to claim whether it was released.
type claim struct {
	// made is closed when the claim is made, or has failed.
	made chan struct{}
	// lock is set before that; nil if it has failed.
	lock *flock.Flock
}

// Claim implements [store.Claimer]. It locks the file FILE.lock, which stays
// when the claim is released: removing it would let two processes lock two files.
// Closing the store gives up the lock, but leaves the mark. If the error is
// [store.ErrInDoubt] the next claim may be called unclean although nobody had
// the store.
func (s *Store) Claim(ctx context.Context) (store.Claim, error) {
	c := &claim{made: make(chan struct{})}
	if err := s.reserve(c); err != nil {
		return store.Claim{}, err
	}
	defer close(c.made)
	lock, err := s.lock(ctx)
	if err != nil {
		s.unreserve(c)
		return store.Claim{}, err
	}
	w := &claimWork{claimed: true}
	if err := s.submit(ctx, newRequest(w, true, 100)); err != nil {
		s.unreserve(c)
		return store.Claim{}, errors.Join(err, lock.Close())
	}
	c.lock = lock
	var first sync.Once
	once := func(f func() error) func() error {
		return func() (err error) {
			first.Do(func() { err = f() })
			return err
		}
	}
	return store.Claim{
		Unclean: w.unclean, End: w.end,
		Release: once(func() error { return s.release(c) }),
		Abandon: once(func() error { return s.abandonClaim(c) }),
	}, nil
}

// abandonClaim gives up the lock and leaves the mark. After Close it is given up
// already.
func (s *Store) abandonClaim(c *claim) error {
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
	}
	s.unreserve(c)
	return c.lock.Close()
}

// reserve keeps others of this handle out.
func (s *Store) reserve(c *claim) error {
	s.claimMu.Lock()
	defer s.claimMu.Unlock()
	if s.claimed != nil {
		return store.ErrClaimed
	}
	s.claimed = c
	return nil
}

func (s *Store) unreserve(c *claim) {
	s.claimMu.Lock()
	defer s.claimMu.Unlock()
	if s.claimed == c {
		s.claimed = nil
	}
}

// lock takes the lock, or returns [store.ErrClaimed].
func (s *Store) lock(ctx context.Context) (*flock.Flock, error) {
	select {
	case <-s.closing:
		return nil, store.ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return nil, withdrawn(ctx)
	}
	// Whoever may write to the database may claim it.
	mode := os.FileMode(0o600)
	if info, err := os.Stat(s.path); err == nil {
		mode = info.Mode().Perm()
	}
	lock := flock.New(lockPath(s.path), flock.SetPermissions(mode))
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("refold: claiming the store: %w", errors.Join(err, lock.Close()))
	case !ok:
		return nil, errors.Join(store.ErrClaimed, lock.Close())
	}
	return lock, nil
}

// releasePatience is how long taking the mark away waits for another process that
// writes. After that the mark stays.
const releasePatience = 5 * time.Second

// release takes the mark away, then gives up the lock. After Close it does
// neither: the lock is given up already, and the mark stays.
func (s *Store) release(c *claim) error {
	ctx, cancel := context.WithTimeout(context.Background(), releasePatience)
	defer cancel()
	err := s.submit(ctx, newRequest(&claimWork{}, true, 100))
	if errors.Is(err, store.ErrClosed) {
		return err
	}
	s.unreserve(c)
	return errors.Join(err, c.lock.Close())
}

// giveUpClaim gives up the lock when the store is closed, and leaves the mark.
func (s *Store) giveUpClaim() error {
	s.claimMu.Lock()
	c := s.claimed
	s.claimMu.Unlock()
	if c == nil {
		return nil
	}
	<-c.made
	if c.lock == nil {
		return nil
	}
	return c.lock.Close()
}

// claimWork sets the mark or takes it away.
type claimWork struct {
	claimed bool

	unclean bool
	end     store.Position
}

func (w *claimWork) do(t *transaction) error {
	row, err := t.run.one(getMeta, metaClaimed)
	if err != nil {
		return err
	}
	w.unclean = truth(row[0])
	end, err := t.end()
	if err != nil {
		return err
	}
	w.end = store.Position(end)
	return t.run.exec(setMeta, metaClaimed, number(w.claimed))
}
