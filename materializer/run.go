package materializer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
	"golang.org/x/sync/errgroup"
)

// Run keeps the views up to date until ctx ends, and is the only thing that
// does. It first takes up what is left from earlier: that may be much. When ctx
// ends no document is taken any more, and the runs in hand have Config.Grace to
// end and be stored.
//
// If the last Run on the store ended without a word, because its process was
// killed or brought down by a fold, the documents that were dirty then are run one
// at a time, each attempt recorded before it is made, so that one which brings the
// process down each time is parked after Retry.Attempts starts. All others go on
// meanwhile.
//
// The error tells why it returned:
//
//   - nil: ctx ended, and all runs in hand ended well.
//   - a [*StuckError], which is an [ErrGraceOver]: ctx ended, and folds did not
//     return in time.
//   - [ErrClosed]: the store was closed under it; with a StuckError beside it if
//     folds did not return either.
//   - [ErrClaimed], within a second: another materializer works on the store, in this
//     process or another, and the two do not both share it. Run may be called again.
//   - [ErrStarted], at once, which is a mistake of the program: it was called
//     before.
//   - an error of the store that Run cannot begin with, at once; it may be called
//     again. Later, an error of the store ends no Run: it backs off and tries again.
//
// When it has returned nothing is written any more, and whoever waits for a view
// gets [ErrNotRunning].
func (m *Materializer) Run(ctx context.Context) error {
	if err := m.start(); err != nil {
		return err
	}
	claim, err := m.claim(ctx)
	switch {
	case err != nil && ctx.Err() != nil: // it was over before it began
		m.end(ctx, nil)
		return nil
	case err != nil:
		m.unstart()
		return err
	}
	if m.cfg.Ready != nil {
		m.cfg.Ready()
	}
	m.running.Store(true)
	err = m.run(ctx)
	m.running.Store(false)
	defer m.sharing.name.Store(nil)
	giveUp := claim.Release
	if m.suspectsLeft(ctx) {
		giveUp = claim.Abandon // the next one goes on with them
	}
	if released := giveUp(); err == nil {
		err = released
	}
	m.end(ctx, err)
	return err
}

// suspectsLeft reports whether suspects have neither passed nor parked yet, or
// whether that is not known, as of those in a paused collection.
func (m *Materializer) suspectsLeft(ctx context.Context) bool {
	if m.suspects.end.Load() == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for row, err := range m.mayBeSuspects(ctx) {
		if err != nil || m.suspectSince(row.Key, row.Since) {
			return true
		}
	}
	stored, err := m.st.Collections(ctx)
	return err != nil || slices.ContainsFunc(stored, func(c store.Collection) bool { return c.Paused })
}

func (m *Materializer) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	e := newEngine(m, fail, ctx.Done())
	defer m.st.Listen(store.Listener{
		Stored:   e.stored(),
		Dirty:    m.announce,
		Switched: m.heardOfSwitch,
	})()
	feed := dispatcher.Dispatcher{
		Table:    m.table,
		Runnable: e.runnable,
		Bus:      &m.appended,
		Buffer:   m.cfg.Announcements,
		Unswept:  true,
		Logger:   m.cfg.Logger,
	}
	pools := &pools{engine: e}
	var g errgroup.Group
	g.Go(func() error { return feed.Run(ctx) })
	g.Go(func() error { return m.follow(yield.Start(ctx, "follow", 0)) })
	asides := 0
	aside := func(workers int, over <-chan struct{}) {
		n, src := asides, source(e.aside)
		asides++
		if over != nil {
			src = replacement{e.aside, over}
		}
		g.Go(func() error { return pools.aside(yield.Start(ctx, "aside", n), src, workers) })
	}
	g.Go(func() error { return newKeeper(e, aside).keep(yield.Start(ctx, "keep", 0)) })
	g.Go(func() error { return m.sweep(yield.Start(ctx, "sweep", 0), e.hot.turn) })
	g.Go(func() error {
		replaced := 0
		return e.mind(yield.Start(ctx, "mind", 0), func(h *hand, over <-chan struct{}, ended func()) {
			replaced++
			n := replaced
			g.Go(func() error {
				defer ended()
				return pools.replace(yield.Start(ctx, "replacement", n), h, over)
			})
		})
	})
	if m.suspects.end.Load() > 0 || m.cfg.Shared {
		g.Go(func() error { return pools.careful(yield.Start(ctx, "lane", 0), e.lane) })
	}
	g.Go(func() error {
		defer fail(nil)
		return pools.run(yield.Start(ctx, "pool", 0), e, m.cfg.Workers)
	})
	err := g.Wait()
	yield.At(ctx, "all have ended")
	e.gate.close()
	yield.At(ctx, "waited for the gate")
	e.takeBack(ctx)
	e.leases.giveUpAll(ctx)
	if stuck := pools.abandoned(); len(stuck) > 0 {
		err = e.stuck(stuck)
	}
	if cause := context.Cause(ctx); errors.Is(cause, store.ErrClosed) {
		return errors.Join(cause, err)
	}
	return err
}

// claim takes the store, and finds out what is left of the one that had it.
func (m *Materializer) claim(ctx context.Context) (store.Claim, error) {
	claim, err := m.join(ctx)
	if err != nil {
		return store.Claim{}, err
	}
	err = m.refresh(ctx)
	if err == nil && claim.Unclean {
		err = m.suspectUpTo(ctx, claim.End)
	}
	if err != nil {
		giveUp := claim.Release
		if claim.Unclean {
			giveUp = claim.Abandon
		}
		m.sharing.name.Store(nil)
		return store.Claim{}, errors.Join(err, giveUp())
	}
	if claim.Unclean {
		m.cfg.Logger.Warn().Msg("the last run ended without a word: documents that were dirty then are run one at a time")
	}
	return claim, nil
}

// runnable is what the dispatcher reads. If nothing else is going on, it is
// where Run learns that the store is closed.
func (e *engine) runnable(ctx context.Context) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		for row, err := range e.st.Runnable(ctx, e.served()) {
			if errors.Is(err, store.ErrClosed) {
				e.fail(err)
			}
			if err == nil && e.suspect(row.Key, row.Since, row.Lease) {
				// The lane reads them itself, but has to be told: whoever made the document
				// runnable may not have been heard.
				e.suspects.look()
				continue
			}
			if err == nil && e.aside.has(row.Key) {
				continue // it is signalled when it is given back
			}
			if err == nil && e.sharing.elsewhere(row.Lease) {
				row.Wait = max(row.Wait, lookAgain(row.Lease))
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
		m.waits.notifyAll()
		if err := m.refresh(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn().Err(err).Msg("cannot read the collections")
		}
		m.table.Reread()
		if m.cfg.Shared {
			m.breathe(ctx)
		}
	}
}

// stuck names the folds that have not returned, or, should they have returned by
// now, the documents whose runs were given up.
func (e *engine) stuck(abandoned []dispatcher.Ticket) error {
	err := &StuckError{}
	for _, h := range e.inHand() {
		if key, ok := h.key(); ok {
			err.Documents = append(err.Documents, e.shown(key))
		}
	}
	if len(err.Documents) == 0 {
		for _, ticket := range abandoned {
			err.Documents = append(err.Documents, e.shown(ticket.Key))
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
}

// notRunning is the error of whoever waited when Run returned.
func (m *Materializer) notRunning() error {
	if m.endCause == nil {
		return ErrNotRunning
	}
	return fmt.Errorf("%w: %w", ErrNotRunning, m.endCause)
}
