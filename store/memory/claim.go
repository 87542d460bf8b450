package memory

import (
	"context"
	"fmt"

	"github.com/refold-go/refold/store"
)

// claims are the materializers that work on a store: one for itself, or several that
// share it.
type claims struct {
	alone bool
	share int
	given int // how many there ever were
}

// Claim implements [store.Claimer]. It is never unclean.
func (s *Store) Claim(ctx context.Context) (store.Claim, error) { return s.claim(ctx, true) }

// Share implements [store.Leaser]. It does not wait, and is never unclean.
func (s *Store) Share(ctx context.Context) (store.Claim, error) { return s.claim(ctx, false) }

func (s *Store) claim(ctx context.Context, alone bool) (store.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return store.Claim{}, err
	}
	if s.claims.alone || alone && s.claims.share > 0 {
		return store.Claim{}, store.ErrClaimed
	}
	if alone {
		s.claims.alone = true
	} else {
		s.claims.share++
	}
	s.claims.given++
	released := false // guarded by mu
	release := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if released {
			return nil
		}
		released = true
		if s.closed {
			return store.ErrClosed
		}
		if alone {
			s.claims.alone = false
		} else {
			s.claims.share--
		}
		return nil
	}
	return store.Claim{End: s.end, Holder: fmt.Sprint(s.claims.given), Release: release, Abandon: release}, nil
}
