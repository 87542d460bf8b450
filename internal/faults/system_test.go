package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

const documents = 8

// chain is a state that shows from which operations it was folded, and that takes
// as much room as they do.
type chain struct {
	N    int64
	Text string
}

type text struct{ Text string }

func fold(c chain, op materializer.Operation[text]) (chain, error) {
	if op.Seq != c.N+1 {
		return c, materializer.Permanent(fmt.Errorf("operation %d folded after %d", op.Seq, c.N))
	}
	return chain{op.Seq, c.Text + op.Body.Text + "\n"}, nil
}

// open opens a file with its materializer. Folds wait for gate, unless it is nil.
func open(path string, gate <-chan struct{}) (*commits, *materializer.Materializer, *materializer.Collection[chain, text], error) {
	sq, err := sqlite.Open(path, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	st := &commits{Store: sq, failed: make(chan error, 1<<16)}
	m, err := materializer.New(st, materializer.Config{Workers: 2})
	if err != nil {
		return nil, nil, nil, errors.Join(err, sq.Close())
	}
	chains, err := materializer.Register(m, materializer.Spec[chain, text]{
		Name: "chains", Version: 1, Retry: materializer.Retry{Attempts: 3, First: time.Millisecond},
		Fold: func(c chain, op materializer.Operation[text]) (chain, error) {
			if gate != nil {
				<-gate
			}
			return fold(c, op)
		},
	})
	if err != nil {
		return nil, nil, nil, errors.Join(err, sq.Close())
	}
	return st, m, chains, nil
}

// commits is a store that tells which commits of views fail.
type commits struct {
	*sqlite.Store
	failed chan error
}

func (s *commits) Commit(ctx context.Context, all []store.Commit) ([]store.Outcome, error) {
	outcomes, err := s.Store.Commit(ctx, all)
	if err != nil {
		select {
		case s.failed <- err:
		default: // nobody reads it any more
		}
	}
	return outcomes, err
}

// ack is an operation of which somebody was told how its append went.
type ack struct{ document, id string }

func link(op ack, body string) materializer.NewOperation[text] {
	return materializer.NewOperation[text]{ID: op.id, Body: text{op.id + body}}
}

// system is a process's own store and materializer, which runs, and what it was
// told of its appends.
type system struct {
	t      *testing.T
	st     *commits
	m      *materializer.Materializer
	chains *materializer.Collection[chain, text]
	open   func() // opens the gate of the folds
	halt   func() error
	broken bool // Run is not expected to end well

	// mu guards the following fields.
	mu             sync.Mutex
	n              int
	acked, refused []ack
	doubtful       []materializer.Change
}

// newSystem starts a materializer whose folds wait until the gate is opened.
func newSystem(t *testing.T, path string) *system {
	t.Helper()
	gate := make(chan struct{})
	s := &system{t: t, open: sync.OnceFunc(func() { close(gate) })}
	var err error
	if s.st, s.m, s.chains, err = open(path, gate); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.m.Run(ctx) }()
	s.halt = sync.OnceValue(func() error { stop(); return <-done })
	t.Cleanup(func() {
		s.open()
		if err := s.halt(); err != nil && !s.broken {
			t.Errorf("Run: %v", err)
		}
		if err := s.st.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	for { // until it has its claim, which it must not ask for during the fault
		if h, err := s.m.Health(t.Context()); err != nil {
			t.Fatal(err)
		} else if h.Running {
			return s
		}
		time.Sleep(time.Millisecond)
	}
}

// append appends an operation of so many bytes to the next document, and notes
// how it went.
func (s *system) append(ctx context.Context, size int) error {
	s.mu.Lock()
	s.n++
	op := ack{fmt.Sprint("d", s.n%documents), fmt.Sprint("op", s.n)}
	s.mu.Unlock()
	change := s.chains.ChangeWith(op.document, link(op, strings.Repeat("x", size)))
	_, err := s.m.Append(ctx, change)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.acked = append(s.acked, op)
	case errors.Is(err, store.ErrInDoubt):
		s.doubtful = append(s.doubtful, change)
		s.acked = append(s.acked, op) // by check
	default:
		s.refused = append(s.refused, op)
	}
	return err
}

// fill gives each document something to fold, and waits for nothing.
func (s *system) fill(size int) {
	s.t.Helper()
	for range documents {
		if err := s.append(s.t.Context(), size); err != nil {
			s.t.Fatal(err)
		}
	}
}

// wantBackedOff waits until so many documents could not be committed, each of them
// waits for its next try, and none is blamed.
func (s *system) wantBackedOff(dirty int) {
	s.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case <-s.st.failed:
		case <-limit:
			s.t.Fatalf("the folds have not backed off: %+v", s.m.Stats())
		}
		// The failure is told before its documents are given back; the next one
		// tells that again, if there is one.
		for s.m.Stats().Running > 0 {
			time.Sleep(time.Millisecond)
		}
		if got := s.m.Stats(); got.Delayed == dirty {
			break
		}
	}
	for i := range documents {
		x, err := s.chains.Explain(s.t.Context(), fmt.Sprint("d", i))
		if err != nil || x.Attempts != 0 || x.State == materializer.StateParked {
			s.t.Errorf("%v, %v: want it not to be blamed", x, err)
		}
	}
}

// finish runs a materializer until everything is folded.
func finish(t *testing.T, m *materializer.Materializer) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	if err := m.Drain(within(t)); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// within returns a context that ends the test's waiting.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// check ends a test: what was in doubt is sent again, everything is folded by
// itself, and is as it should be.
func (s *system) check() {
	s.t.Helper()
	ctx := within(s.t)
	for _, change := range s.doubtful {
		if _, err := s.m.Append(ctx, change); err != nil {
			s.t.Errorf("again, after an error that was in doubt: %v", err)
		}
	}
	if err := s.m.Drain(ctx); err != nil {
		s.t.Fatalf("Drain: %v", err)
	}
	if h, err := s.m.Health(ctx); err != nil || h.Dirty+h.Parked != 0 {
		s.t.Errorf("Health: %d dirty, %d parked, %v", h.Dirty, h.Parked, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	checkStored(s.t, s.chains, s.acked, s.refused)
}

// checkStored compares what is stored with what was said of it.
func checkStored(t *testing.T, chains *materializer.Collection[chain, text], acked, refused []ack) {
	t.Helper()
	stored := compareStored(t, chains, acked, refused)
	t.Logf("%d acknowledged, %d refused, %d stored", len(acked), len(refused), stored)
}

// compareStored is checkStored without a word if all is well.
func compareStored(t *testing.T, chains *materializer.Collection[chain, text], acked, refused []ack) (stored int) {
	t.Helper()
	ctx := context.Background()
	v, err := chains.Verify(ctx, materializer.VerifyOptions{})
	if err != nil || v.Different != 0 || v.Documents == 0 {
		t.Errorf("Verify: %+v, %v", v, err)
	}
	present := make(map[ack]int)
	for v, err := range chains.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Applied != v.Head || v.State.N != v.Applied {
			t.Errorf("%s: view of %d of %d, it says %d", v.ID, v.Applied, v.Head, v.State.N)
		}
		for op, err := range chains.Operations(ctx, v.ID, 1) {
			if err != nil {
				t.Fatal(err)
			}
			present[ack{v.ID, op.ID}]++
		}
	}
	for op, n := range present {
		if n != 1 {
			t.Errorf("%v is there %d times", op, n)
		}
	}
	for _, op := range acked {
		if present[op] == 0 {
			t.Errorf("%v was acknowledged and is not there", op)
		}
	}
	for _, op := range refused {
		if present[op] != 0 {
			t.Errorf("%v was refused and is there", op)
		}
	}
	return len(present)
}
