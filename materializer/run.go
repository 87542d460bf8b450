package materializer

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
	"golang.org/x/sync/errgroup"
)

// Run keeps the views up to date until ctx ends, and is the only thing that
// does. It first takes up what is left from earlier: that may be much. When ctx
// ends no document is taken any more, and the runs in hand have Config.Grace to
// end and be stored.
//
// It returns nil after that; a [*StuckError] if folds did not return in time;
// [ErrClaimed], at once, if another materializer works on the store, in this
// process or another, in which case it may be called again; [ErrStarted] if it
// was called before; [ErrClosed] if the store was closed under it. When it has
// returned nothing is written any more, and whoever waits for a view gets
// [ErrNotRunning].
func (m *Materializer) Run(ctx context.Context) error {
	if err := m.start(); err != nil {
		return err
	}
	release, err := m.st.Claim(ctx)
	switch {
	case err != nil && ctx.Err() != nil: // it was over before it began
		m.end(ctx, nil)
		return nil
	case err != nil:
		m.unstart()
		return err
	}
	m.running.Store(true)
	err = m.run(ctx)
	m.running.Store(false)
	if released := release(); err == nil {
		err = released
	}
	m.end(ctx, err)
	return err
}

func (m *Materializer) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	e := &engine{Materializer: m, fail: fail, folding: make(map[*store.Key]struct{})}
	defer m.st.Listen(store.Listener{Dirty: func(keys []store.Key) { m.appended.Publish(keys...) }})()
	feed := dispatcher.Dispatcher{
		Table:    m.table,
		Runnable: e.runnable,
		Bus:      &m.appended,
		Buffer:   m.cfg.Announcements,
		Logger:   m.cfg.Logger,
	}
	pool := worker.Pool[dispatcher.Ticket, dispatcher.Result]{
		Workers: m.cfg.Workers,
		Batch:   m.cfg.Batch,
		Grace:   m.cfg.Grace,
		Work:    e.work,
		Failed:  e.failed,
	}
	var g errgroup.Group
	g.Go(func() error { return feed.Run(ctx) })
	g.Go(func() error { return m.follow(ctx) })
	g.Go(func() error {
		defer fail(nil)
		return pool.Run(ctx, e)
	})
	err := g.Wait()
	e.gate.close()
	if cause := context.Cause(ctx); errors.Is(cause, store.ErrClosed) {
		return cause
	}
	if stuck, ok := errors.AsType[*worker.StuckError[dispatcher.Ticket]](err); ok {
		return e.stuck(stuck.Items)
	}
	return err
}

// runnable is what the dispatcher reads. If nothing else is going on, it is
// where Run learns that the store is closed.
func (e *engine) runnable(ctx context.Context) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		for row, err := range e.st.Runnable(ctx, e.names()) {
			if errors.Is(err, store.ErrClosed) {
				e.fail(err)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// follow looks again when somebody else may have appended.
func (m *Materializer) follow(ctx context.Context) error {
	f, ok := m.st.(store.Follower)
	if !ok {
		return nil
	}
	for seen := uint64(0); ; {
		next, err := f.Follow(ctx, seen)
		if err != nil {
			m.table.Reread() // if the store is closed, reading it finds that out
			return nil
		}
		seen = next
		m.table.Reread()
	}
}

// stuck names the folds that have not returned, or, should they have returned by
// now, the documents whose runs were given up.
func (e *engine) stuck(abandoned []dispatcher.Ticket) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := &StuckError{}
	for key := range e.folding {
		err.Documents = append(err.Documents, *key)
	}
	if len(err.Documents) == 0 {
		for _, ticket := range abandoned {
			err.Documents = append(err.Documents, ticket.Key)
		}
	}
	return err
}

func (m *Materializer) start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return fmt.Errorf("%w: Run may be called once", ErrStarted)
	}
	m.started = true
	return nil
}

func (m *Materializer) unstart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.started = false
}

// end ends whoever waits.
func (m *Materializer) end(ctx context.Context, err error) {
	if err == nil {
		err = context.Cause(ctx)
	}
	m.endCause = err
	close(m.ended)
	m.changes.Close()
}

// notRunning is the error of whoever waited when Run returned.
func (m *Materializer) notRunning() error {
	if m.endCause == nil {
		return ErrNotRunning
	}
	return fmt.Errorf("%w: %w", ErrNotRunning, m.endCause)
}
