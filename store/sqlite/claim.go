package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/gofrs/flock"

	"github.com/refold-go/refold/store"
)

// claim is a lock on the file FILE.lock. The system gives it up when the process
// ends, however it ends, so that no time limit has to guess whether it lives.
type claim struct {
	lock *flock.Flock
	// release gives it up, once.
	release func() error
}

// Claim implements [store.Claimer]. It locks the file FILE.lock, which stays
// when the claim is released: removing it would let two processes lock two files.
func (s *Store) Claim(ctx context.Context) (release func() error, err error) {
	s.claimMu.Lock()
	defer s.claimMu.Unlock()
	select {
	case <-s.closing:
		return nil, store.ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if s.claimed != nil {
		return nil, store.ErrClaimed
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
	c := &claim{lock: lock}
	c.release = sync.OnceValue(func() error {
		s.claimMu.Lock()
		defer s.claimMu.Unlock()
		s.claimed = nil
		return lock.Close()
	})
	s.claimed = c
	return c.release, nil
}

// releaseClaim gives up the claim if it is ours.
func (s *Store) releaseClaim() error {
	s.claimMu.Lock()
	c := s.claimed
	s.claimMu.Unlock()
	if c == nil {
		return nil
	}
	return c.release()
}
