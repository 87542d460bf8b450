package storetest

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/position"
)

// secondWriter opens another handle, which is another writer; it skips what cannot
// be tried.
func (f *fixture) secondWriter() *fixture {
	f.Helper()
	if _, many := f.b.(store.Writers); !many {
		f.Skip("the backend is no store.Writers")
	}
	return &fixture{suite: f.suite, T: f.T, b: f.second()}
}

func writer(f *fixture, b store.Backend) (store.Writer, position.Epoch) {
	f.Helper()
	return b.(store.Writers).Writer()
}

func standings(f *fixture) []position.Standing {
	f.Helper()
	all, err := f.b.(store.Writers).Standings(background)
	if err != nil {
		f.Fatalf("Standings: %v", err)
	}
	return all
}

// standing returns what is stored of a writer.
func standing(f *fixture, w store.Writer) position.Standing {
	f.Helper()
	for _, s := range standings(f) {
		if s.Writer == w {
			return s
		}
	}
	f.Fatalf("nothing is stored of writer %d", w)
	return position.Standing{}
}

// cut returns what a token of f.b is without its store.
func cut(f *fixture, token store.Token) position.Token {
	f.Helper()
	if token.IsZero() {
		return position.Token{}
	}
	of, err := strconv.ParseUint(token.String()[:16], 16, 64)
	if err != nil {
		f.Fatalf("token %s: %v", token, err)
	}
	c, err := token.Cut(store.Incarnation(of))
	if err != nil {
		f.Fatalf("token %s: %v", token, err)
	}
	return c
}

// beside is an append in another goroutine.
type beside struct {
	f      *fixture
	done   chan struct{} // closed when the following fields are set
	result store.Appended
	err    error
	// goOn lets it go on, if it is stalled.
	goOn func()
}

func (f *fixture) beside(call func() (store.Appended, error)) *beside {
	s := &beside{f: f, done: make(chan struct{}), goOn: func() {}}
	go func() {
		defer close(s.done)
		s.result, s.err = call()
	}()
	f.Cleanup(func() {
		s.goOn()
		<-s.done
	})
	return s
}

// stall begins an append by f.b that has drawn its positions and does not commit
// before goOn is called; it skips what cannot be tried.
func (f *fixture) stall(appends ...store.Append) *beside {
	f.Helper()
	if f.Stall == nil {
		f.Skip("an append of the backend cannot be stalled")
	}
	reached, goOn := f.Stall(f.T, f.b)
	once := sync.OnceFunc(goOn)
	s := f.beside(func() (store.Appended, error) { return f.b.Append(background, appends) })
	s.goOn = once
	select {
	case <-reached:
	case <-s.done:
		f.Fatalf("the append ended without being stalled: %v", s.err)
	case <-time.After(patience):
		f.Fatal("the append has not drawn its positions")
	}
	return s
}

// over reports whether the append has ended, after a moment in which it could have.
func (s *beside) over() bool {
	select {
	case <-s.done:
		return true
	case <-time.After(50 * time.Millisecond):
		return false
	}
}

func (s *beside) wait() {
	s.f.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.f.Fatal("the append does not end")
	}
}

func (s *beside) mustSucceed() store.Appended {
	s.f.Helper()
	if s.wait(); s.err != nil {
		s.f.Fatalf("Append: %v", s.err)
	}
	return s.result
}

func (s *beside) mustBeFenced() {
	s.f.Helper()
	if s.wait(); !errors.Is(s.err, store.ErrFenced) || errors.Is(s.err, store.ErrInDoubt) {
		s.f.Errorf("the append of a fenced writer: %v", s.err)
	}
}
