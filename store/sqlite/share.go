package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/gofrs/flock"

	"github.com/refold-go/refold/store"
)

const (
	// sharePatience is how long Share waits for another one that takes the mark away,
	// or sets it.
	sharePatience = time.Second
	// shareRetry is how often it tries meanwhile.
	shareRetry = 10 * time.Millisecond
)

// Share implements [store.Leaser]. It holds the lock of [Store.Claim] shared. The first
// and the last one that share have it exclusively for a moment, for the mark.
func (s *Store) Share(ctx context.Context) (store.Claim, error) {
	return s.claim(ctx, &claim{made: make(chan struct{})}, s.claimShared)
}

func (s *Store) claimShared(ctx context.Context) (*flock.Flock, *claimWork, error) {
	lock, first, err := s.claimAlone(ctx)
	switch {
	case err == nil:
		// Nobody else is there. Until the lock is held again, somebody may come in, who
		// finds the mark and may call the last claim unclean, which costs time only.
		if err := lock.Close(); err != nil {
			return nil, nil, err
		}
	case !errors.Is(err, store.ErrClaimed):
		return nil, nil, err
	}
	for begun := time.Now(); ; {
		lock, err := s.lock(ctx, (*flock.Flock).TryRLock)
		if err == nil {
			return s.join(ctx, lock, first)
		}
		if !errors.Is(err, store.ErrClaimed) || time.Since(begun) > sharePatience {
			return nil, nil, err
		}
		select {
		case <-time.After(shareRetry):
		case <-ctx.Done():
			return nil, nil, withdrawn(ctx)
		case <-s.closing:
			return nil, nil, store.ErrClosed
		}
	}
}

// join makes a shared claim out of the lock. Who had the lock alone before it has done
// so; another one sets the mark again, in case that all others have left meanwhile.
func (s *Store) join(ctx context.Context, lock *flock.Flock, first *claimWork) (*flock.Flock, *claimWork, error) {
	if first != nil {
		return lock, first, nil
	}
	w := &claimWork{claimed: true}
	if err := s.submit(ctx, newRequest(w, true, 100)); err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	w.unclean = false // it is the mark of those who are there
	return lock, w, nil
}

// leave gives up a shared lock. Whoever gets it exclusively then was the last, and takes
// the mark away. It is given up first, because of two that leave at once each would see
// the other.
func (s *Store) leave(c *claim) error {
	if err := s.abandonClaim(c); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), releasePatience)
	defer cancel()
	lock, err := s.lock(ctx, (*flock.Flock).TryLock)
	if errors.Is(err, store.ErrClaimed) {
		return nil // others are there
	}
	if err != nil {
		return err
	}
	err = s.submit(ctx, newRequest(&claimWork{}, true, 100))
	return errors.Join(err, lock.Close())
}
