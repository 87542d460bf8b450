package materializer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"

	"github.com/refold-go/refold/store"
)

// The points at which a tap calls its hook: before a call takes effect, and
// after it, before the caller learns of it.
const (
	atAppend     = "before append"
	appended     = "after append"
	atLoad       = "before load"
	loaded       = "after load"
	atOperations = "before reading operations"
	operations   = "after reading operations"
	atCommit     = "before commit"
	committed    = "after commit"
	atLease      = "before lease"
	leased       = "after lease"
	atRelease    = "before giving leases back"
	gaveBack     = "after giving leases back"
	claimed      = "after claim"
	released     = "after release"
)

// tap is a store whose calls can be watched, held up and failed. An error of its
// hook is what the call returns; at a point after the effect, the effect stays.
type tap struct {
	store.Backend

	mu      sync.Mutex // guards the following fields; not held while the hook runs
	hook    func(point string) error
	dead    bool
	unclean bool // the last claim is said to have ended so
	release func() error
	// points are those that were passed, commits those that took effect, each with
	// its outcome.
	points   []string
	commits  []store.Commit
	outcomes []store.Outcome

	appending int                    // calls of Append under way, guarded by mu like the following
	late      []store.Key            // what they made dirty
	announce  func(keys []store.Key) // to whoever listens
}

var errDead = errors.New("the process is dead")

func newTap(st store.Backend) *tap { return &tap{Backend: st} }

// untapped returns the store below the taps.
func untapped(st store.Backend) store.Backend {
	for {
		t, ok := st.(*tap)
		if !ok {
			return st
		}
		st = t.Backend
	}
}

func (s *tap) onPoint(hook func(point string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = hook
}

// on calls f the first time that a point is passed.
func (s *tap) on(point string, f func() error) {
	var passed atomic.Bool // no sync.Once: the others would wait for the first
	s.onPoint(func(p string) error {
		if p != point || passed.Swap(true) {
			return nil
		}
		return f()
	})
}

// stopAt makes the first call that comes to a point wait there. Reached is
// closed when it does, and goOn lets it go on.
func (s *tap) stopAt(point string) (reached <-chan struct{}, goOn func()) {
	r, g := make(chan struct{}), make(chan struct{})
	s.on(point, func() error {
		close(r)
		<-g
		return nil
	})
	return r, sync.OnceFunc(func() { close(g) })
}

// kill makes this and all later calls fail, as if the process had died, and
// gives up its claim, as the end of a process does.
func (s *tap) kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = true
	if s.release != nil {
		s.release()
	}
	return errDead
}

func (s *tap) pass(point string) error {
	s.mu.Lock()
	if s.dead {
		s.mu.Unlock()
		return errDead
	}
	s.points = append(s.points, point)
	hook := s.hook
	s.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(point)
}

// passed returns the points passed so far.
func (s *tap) passed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.points)
}

// writes returns how many calls that write something took effect.
func (s *tap) writes() (n int) {
	for _, p := range s.passed() {
		if p == appended || p == committed {
			n++
		}
	}
	return n
}

// commitsOf returns the commits of a document that were not stale.
func (s *tap) commitsOf(id string) (of []store.Commit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.commits {
		if c.Key.ID == id && s.outcomes[i] != store.Stale {
			of = append(of, c)
		}
	}
	return of
}

// call runs a call between its two points.
func call[T any](s *tap, before, after string, f func() (T, error)) (T, error) {
	var none T
	if err := s.pass(before); err != nil {
		return none, err
	}
	result, err := f()
	if err != nil {
		return none, err
	}
	if err := s.pass(after); err != nil {
		return none, err
	}
	return result, nil
}

func (s *tap) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	s.mu.Lock()
	s.appending++
	s.mu.Unlock()
	result, err := call(s, atAppend, appended, func() (store.Appended, error) { return s.Backend.Append(ctx, appends) })
	s.mu.Lock()
	s.appending--
	var keys []store.Key
	if s.appending == 0 {
		keys, s.late = s.late, nil
	}
	announce := s.announce
	s.mu.Unlock()
	if len(keys) > 0 && announce != nil && err == nil {
		announce(keys)
	}
	return result, err
}

// Listen has what an append made dirty announced after the point behind it, so
// that what is seen there does not depend on how soon somebody takes it up.
func (s *tap) Listen(l store.Listener) (stop func()) {
	if dirty := l.Dirty; dirty != nil {
		s.mu.Lock()
		s.announce = dirty
		s.mu.Unlock()
		l.Dirty = func(keys []store.Key) {
			s.mu.Lock()
			wait := s.appending > 0
			if wait {
				s.late = append(s.late, keys...)
			}
			s.mu.Unlock()
			if !wait {
				dirty(keys)
			}
		}
	}
	return s.Backend.Listen(l)
}

func (s *tap) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	return call(s, atLoad, loaded, func() ([]store.Document, error) { return s.Backend.Load(ctx, keys, parts) })
}

func (s *tap) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	return call(s, atOperations, operations, func() ([][]store.Operation, error) {
		return s.Backend.Operations(ctx, ranges, budget)
	})
}

func (s *tap) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	return call(s, atCommit, committed, func() ([]store.Outcome, error) {
		outcomes, err := s.Backend.Commit(ctx, commits)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			s.commits = append(s.commits, commits...)
			s.outcomes = append(s.outcomes, outcomes...)
		}
		return outcomes, err
	})
}

func (s *tap) Lease(ctx context.Context, holder string, terms store.LeaseTerms, keys []store.Key, over bool) ([]store.Leased, error) {
	return call(s, atLease, leased, func() ([]store.Leased, error) { return s.Backend.Lease(ctx, holder, terms, keys, over) })
}

func (s *tap) Lengthen(ctx context.Context, holder string, terms store.LeaseTerms, held []store.Held) ([]bool, error) {
	return call(s, atLease, leased, func() ([]bool, error) { return s.Backend.Lengthen(ctx, holder, terms, held) })
}

func (s *tap) Release(ctx context.Context, holder string, held []store.Held) ([]bool, error) {
	return call(s, atRelease, gaveBack, func() ([]bool, error) { return s.Backend.Release(ctx, holder, held) })
}

func (s *tap) Claim(ctx context.Context) (store.Claim, error) { return s.claim(ctx, s.Backend.Claim) }
func (s *tap) Share(ctx context.Context) (store.Claim, error) { return s.claim(ctx, s.Backend.Share) }

func (s *tap) claim(ctx context.Context, take func(context.Context) (store.Claim, error)) (store.Claim, error) {
	claim, err := take(ctx)
	if err != nil {
		return store.Claim{}, err
	}
	release := claim.Release
	s.mu.Lock()
	s.release = release
	claim.Unclean = claim.Unclean || s.unclean
	s.mu.Unlock()
	if err := s.pass(claimed); err != nil {
		return store.Claim{}, errors.Join(err, release())
	}
	claim.Release = func() error { return errors.Join(release(), s.pass(released)) }
	return claim, nil
}

// settle waits until nothing moves any more without time passing.
func settle() { synctest.Wait() }

func (s *tap) isDead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dead
}
