package materializertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/refold-go/refold/store"
)

// mode is what happens at a call of the store.
type mode uint8

const (
	never      mode = iota
	killBefore      // the process ends before the call takes effect
	killAfter       // it ends after the call took effect, before it returns
	doubtLost       // the call returns ErrInDoubt and had no effect
	doubtKept       // the call returns ErrInDoubt and took effect
)

func (m mode) String() string {
	switch m {
	case killBefore:
		return "killed before"
	case killAfter:
		return "killed after"
	case doubtLost:
		return "in doubt, and not stored, at"
	case doubtKept:
		return "in doubt, and stored, at"
	}
	return "not harmed"
}

// counts reports whether the mode can be at a call. What is killed after reading is
// killed before the next call.
func (m mode) counts(k kind) bool {
	switch m {
	case killBefore:
		return true
	case killAfter:
		return k != reading
	case doubtLost, doubtKept:
		return k == writing
	}
	return false
}

// kind is what a call of the store does.
type kind uint8

const (
	reading  kind = iota
	claiming      // or registering: it changes something, and is never in doubt
	writing
)

var errKilled = errors.New("materializertest: the process was killed")

// mortal is a store in the hands of a process that ends at one of its calls.
type mortal struct {
	store.Backend
	mode mode
	at   int    // the number of the call, from 1, among those that count
	kill func() // called once, when the process ends

	// unclean makes a store that cannot know it say that the last process was killed.
	unclean bool

	// mu guards the following fields.
	mu      sync.Mutex
	calls   int
	fired   string       // the call at which it happened
	dead    bool         // no call takes effect any more
	abandon func() error // of the claim
}

// before returns what the call returns instead of taking effect, and whether
// something happens after it.
func (s *mortal) before(name string, k kind) (after bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		return false, errKilled
	}
	if !s.mode.counts(k) {
		return false, nil
	}
	if s.calls++; s.calls != s.at {
		return false, nil
	}
	s.fired = name
	switch s.mode {
	case killBefore:
		s.dieLocked()
		return false, errKilled
	case doubtLost:
		return false, fmt.Errorf("%w: planted by a test", store.ErrInDoubt)
	}
	return true, nil
}

// after returns what the call returns that took effect.
func (s *mortal) after() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode == doubtKept {
		return fmt.Errorf("%w: planted by a test", store.ErrInDoubt)
	}
	s.dieLocked()
	return errKilled
}

func (s *mortal) dieLocked() {
	s.dead = true
	s.kill()
}

// bury ends the process if it is alive, and gives its claim up as the end of a
// process does. It returns the call at which something happened, or nothing.
func (s *mortal) bury() (fired string, killed bool, err error) {
	s.mu.Lock()
	fired, killed, abandon := s.fired, s.dead, s.abandon
	s.dead = true
	s.mu.Unlock()
	if abandon != nil && killed {
		err = abandon()
	}
	return fired, killed, err
}

// call makes a call of the store, or not.
func call[T any](s *mortal, name string, k kind, f func() (T, error)) (result T, err error) {
	var none T
	after, err := s.before(name, k)
	if err != nil {
		return none, err
	}
	if result, err = f(); err != nil || !after {
		return result, err
	}
	return none, s.after()
}

// stream makes a stream of the store, or not.
func stream[T any](s *mortal, name string, from iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if _, err := s.before(name, reading); err != nil {
			var none T
			yield(none, err)
			return
		}
		from(yield)
	}
}

func (s *mortal) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	return call(s, "Append", writing, func() (store.Appended, error) { return s.Backend.Append(ctx, appends) })
}

func (s *mortal) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	return call(s, "Commit", writing, func() ([]store.Outcome, error) { return s.Backend.Commit(ctx, commits) })
}

func (s *mortal) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	return call(s, "Load", reading, func() ([]store.Document, error) { return s.Backend.Load(ctx, keys, parts) })
}

func (s *mortal) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	return call(s, "Operations", reading, func() ([][]store.Operation, error) {
		return s.Backend.Operations(ctx, ranges, budget)
	})
}

func (s *mortal) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return stream(s, "Runnable", s.Backend.Runnable(ctx, collections))
}

func (s *mortal) Parked(ctx context.Context, collection string) iter.Seq2[store.Document, error] {
	return stream(s, "Parked", s.Backend.Parked(ctx, collection))
}

func (s *mortal) Register(ctx context.Context, name string, version int) error {
	_, err := call(s, "Register", claiming, func() (bool, error) { return true, s.Backend.Register(ctx, name, version) })
	return err
}

func (s *mortal) Collections(ctx context.Context) ([]store.Collection, error) {
	return call(s, "Collections", reading, func() ([]store.Collection, error) { return s.Backend.Collections(ctx) })
}

func (s *mortal) Resolve(ctx context.Context, token store.Token, keys []store.Key) ([]int64, error) {
	return call(s, "Resolve", reading, func() ([]int64, error) { return s.Backend.Resolve(ctx, token, keys) })
}

func (s *mortal) End(ctx context.Context) (store.Token, error) {
	return call(s, "End", reading, func() (store.Token, error) { return s.Backend.End(ctx) })
}

func (s *mortal) Claim(ctx context.Context) (store.Claim, error) {
	return call(s, "Claim", claiming, func() (store.Claim, error) {
		claim, err := s.Backend.Claim(ctx)
		if err != nil {
			return claim, err
		}
		s.mu.Lock()
		s.abandon = claim.Abandon
		s.mu.Unlock()
		release, abandon := claim.Release, claim.Abandon
		giveUp := func(name string, f func() error) func() error {
			return func() error {
				_, err := call(s, name, claiming, func() (bool, error) { return true, f() })
				return err
			}
		}
		claim.Unclean = claim.Unclean || s.unclean
		claim.Release, claim.Abandon = giveUp("Release", release), giveUp("Abandon", abandon)
		return claim, nil
	})
}
