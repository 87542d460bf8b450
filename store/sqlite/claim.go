package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/refold-go/refold/store"
)

// claim is a lock on the file FILE.lock, exclusive or shared. The system gives it up
// when the process ends, however it ends, so that no time limit has to guess whether it
// lives. A mark in the database tells the next one to claim whether it was released.
type claim struct {
	alone bool
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
	return s.claim(ctx, &claim{alone: true, made: make(chan struct{})}, s.claimAlone)
}

// claimAlone takes the lock and sets the mark.
func (s *Store) claimAlone(ctx context.Context) (*flock.Flock, *claimWork, error) {
	lock, err := s.lock(ctx, (*flock.Flock).TryLock)
	if err != nil {
		return nil, nil, err
	}
	w := &claimWork{claimed: true}
	if err := s.submit(ctx, newRequest(w, true, 100)); err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return lock, w, nil
}

// claim makes a claim out of a lock.
func (s *Store) claim(ctx context.Context, c *claim, take func(context.Context) (*flock.Flock, *claimWork, error)) (store.Claim, error) {
	if err := s.reserve(c); err != nil {
		return store.Claim{}, err
	}
	defer close(c.made)
	lock, w, err := take(ctx)
	if err != nil {
		s.unreserve(c)
		return store.Claim{}, err
	}
	c.lock = lock
	var first sync.Once
	once := func(f func() error) func() error {
		return func() (err error) {
			first.Do(func() { err = f() })
			return err
		}
	}
	release := s.release
	if !c.alone {
		release = s.leave
	}
	return store.Claim{
		Unclean: w.unclean, End: w.end, Holder: w.holder,
		Release: once(func() error { return release(c) }),
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
	for other := range s.claims {
		if c.alone || other.alone {
			return store.ErrClaimed
		}
	}
	if s.claims == nil {
		s.claims = make(map[*claim]struct{})
	}
	s.claims[c] = struct{}{}
	return nil
}

func (s *Store) unreserve(c *claim) {
	s.claimMu.Lock()
	defer s.claimMu.Unlock()
	delete(s.claims, c)
}

// lock takes the lock, as try does, or returns [store.ErrClaimed].
func (s *Store) lock(ctx context.Context, try func(*flock.Flock) (bool, error)) (*flock.Flock, error) {
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
	switch ok, err := try(lock); {
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

// giveUpClaims gives up the locks when the store is closed, and leaves the mark.
func (s *Store) giveUpClaims() error {
	s.claimMu.Lock()
	claims := slices.Collect(maps.Keys(s.claims))
	s.claimMu.Unlock()
	var errs []error
	for _, c := range claims {
		if <-c.made; c.lock != nil {
			errs = append(errs, c.lock.Close())
		}
	}
	return errors.Join(errs...)
}

// claimWork sets the mark or takes it away, and gives a holder its name.
type claimWork struct {
	claimed bool

	unclean bool
	end     store.Position
	holder  string
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
	if w.claimed {
		n, err := t.change()
		if err != nil {
			return err
		}
		w.holder = fmt.Sprintf("%d@%d", n, os.Getpid())
	}
	return t.run.exec(setMeta, metaClaimed, number(w.claimed))
}
