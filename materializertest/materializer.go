package materializertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// Options are the settings of a materializer for tests. The zero value works.
type Options struct {
	// Store is what it works on; it stays the caller's. nil means a new store in
	// memory.
	Store store.Backend
	// Config is that of the materializer, but for this: 0 workers mean one, so that
	// documents are folded one at a time, in the order in which they became dirty.
	Config materializer.Config
	// Patience is how long [Materializer.Settle] waits at most. 0 means 10 s, and a
	// day, which takes no time, in a bubble of testing/synctest.
	Patience time.Duration
}

// Materializer is a [materializer.Materializer] that is run by a test, until the
// test ends. Its methods must be called by the test's goroutine.
type Materializer struct {
	*materializer.Materializer
	t        TB
	store    store.Backend
	patience time.Duration
	// ended is closed when Run has returned; nil before Start. err is what it returned,
	// written before.
	ended chan struct{}
	err   error
}

// New makes a materializer for a test, which is stopped when the test ends. It
// fails the test at once if that cannot be done. Register its collections, and
// then call [Materializer.Settle]. nil options mean the zero [Options].
//
// In a bubble of testing/synctest a store that is given must have been opened in
// the bubble, and be closed there.
func New(t TB, o *Options) *Materializer {
	t.Helper()
	var options Options
	if o != nil {
		options = *o
	}
	st := options.Store
	if st == nil {
		mine := memory.New(nil)
		t.Cleanup(func() { _ = mine.Close() })
		st = mine
	}
	cfg := options.Config
	cfg.Workers = cmp.Or(cfg.Workers, 1)
	m, err := materializer.New(st, cfg)
	if err != nil {
		t.Fatalf("materializertest: %v", err)
	}
	attached := Attach(t, m, st)
	attached.patience = options.Patience
	return attached
}

// Attach is [New] for a materializer that the application made, with the store
// that it was made with.
func Attach(t TB, m *materializer.Materializer, st store.Backend) *Materializer {
	return &Materializer{Materializer: m, t: t, store: st}
}

// Register is [materializer.Register] that fails the test instead of returning an
// error.
func Register[S, O any](m *Materializer, spec materializer.Spec[S, O]) *materializer.Collection[S, O] {
	m.t.Helper()
	c, err := materializer.Register(m.Materializer, spec)
	if err != nil {
		m.t.Fatalf("materializertest: registering collection %s: %v", spec.Name, err)
	}
	return c
}

// Start calls Run, once, in a goroutine that ends with the test; if Run does not
// return nil then, the test fails. [Materializer.Settle] calls it.
func (m *Materializer) Start() {
	if m.ended != nil {
		return
	}
	ctx, stop := context.WithCancel(m.t.Context())
	m.ended = make(chan struct{})
	go func() {
		defer close(m.ended)
		m.err = m.Run(ctx)
	}()
	m.t.Cleanup(func() {
		stop()
		if <-m.ended; m.err != nil {
			m.t.Errorf("materializertest: Run returned: %v", m.err)
		}
	})
}

// whileRunning returns a context that ends when Run has returned, until stop is
// called.
func (m *Materializer) whileRunning(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var g sync.WaitGroup
	g.Go(func() {
		select {
		case <-m.ended:
			cancel(fmt.Errorf("its Run returned: %w", m.err))
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(nil); g.Wait() }
}

// Settle returns when every operation is in its view, those among them that are
// appended meanwhile; inside of a bubble also when nobody else moves any more. It
// fails the test if documents are parked, and names them with their errors; or if
// it takes longer than Options.Patience, and says what it waited for.
func (m *Materializer) Settle() {
	m.t.Helper()
	if parked := m.SettleParked(); len(parked) > 0 {
		m.t.Errorf("materializertest: %s", describe(parked))
	}
}

// SettleParked is [Materializer.Settle] for tests in which folds are meant to fail:
// it returns the documents that are parked, in order of collection and id, with
// their failures.
func (m *Materializer) SettleParked() []store.Document {
	m.t.Helper()
	m.Start()
	patience := m.patience
	if bubble := settled(); patience == 0 {
		patience = 10 * time.Second
		if bubble {
			patience = 24 * time.Hour
		}
	}
	ctx, stop := m.whileRunning(m.t.Context())
	defer stop()
	ctx, late := context.WithTimeoutCause(ctx, patience, errPatience)
	defer late()
	parked, err := m.settle(ctx)
	if err != nil {
		m.t.Fatalf("materializertest: %s", m.excuse(err, patience))
	}
	return parked
}

var errPatience = errors.New("the patience is over")

func (m *Materializer) settle(ctx context.Context) ([]store.Document, error) {
	for {
		end, err := m.End(ctx)
		if err != nil {
			return nil, err
		}
		if err := m.Wait(ctx, end); err != nil && !errors.Is(err, materializer.ErrParked) {
			return nil, err
		}
		settled()
		if now, err := m.End(ctx); err != nil {
			return nil, err
		} else if now == end {
			return m.parked(ctx)
		}
	}
}
