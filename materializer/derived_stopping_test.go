package materializer_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/refold-go/refold/store"
)

// stopping is a store that refuses to commit documents of one name, as readers call it, as
// long as at names it.
type stopping struct {
	store.Backend
	at atomic.Pointer[string]
}

func newStopping(st store.Backend) *stopping { return &stopping{Backend: st} }

var errStopped = errors.New("not now")

func (s *stopping) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	at := s.at.Load()
	for i := range commits {
		name, err := store.ParseCollection(commits[i].Key.Collection)
		if name.Version = 0; err == nil && at != nil && name.String() == *at {
			return nil, errStopped
		}
	}
	return s.Backend.Commit(ctx, commits)
}
