package materializer

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/worker"
)

const (
	// patience is how long the folds of one round may go on before the documents that
	// the worker took with the one that is being folded are given to others, and
	// another worker is started in its place until it returns. Rounds are bounded in
	// operations and bytes so that they take some 20 ms if the folds are quick.
	patience = time.Second
	// carefulPatience is the same for a suspect. It is longer, because the next one
	// would run beside it, and would be blamed too if the process were brought down.
	carefulPatience = time.Minute
	// mostReplaced is how many workers are replaced at a time. Each is a worker
	// more, should all the folds return at once; beyond it, a fold that does not
	// return costs the pool a worker.
	mostReplaced = 16
)

// mind looks after hands whose fold does not return. It costs nothing while
// nothing runs, and a look each second while something does. It returns when ctx
// has ended.
func (e *engine) mind(ctx context.Context, replace func(h *hand, over <-chan struct{}, ended func())) error {
	replaced := make(chan struct{}, mostReplaced)
	timer := time.NewTimer(patience / 2)
	defer timer.Stop()
	for {
		yield.At(ctx, "woken to mind")
		if ctx.Err() != nil {
			return nil
		}
		for _, h := range e.inHand() {
			limit := patience
			if h.careful {
				limit = carefulPatience
			}
			if h.seize(limit) {
				e.seized(ctx, h)
				select {
				case replaced <- struct{}{}:
					over := make(chan struct{})
					h.replaced(sync.OnceFunc(func() { close(over) }))
					// The place is free when the other one has ended, not when the fold has
					// returned: it may have taken documents by then.
					replace(h, over, func() { <-replaced })
				default:
				}
			}
		}
		if len(e.inHand()) == 0 {
			select {
			case <-ctx.Done():
			case <-e.busy:
			}
		}
		timer.Reset(patience / 2)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// inHand returns the hands of now, in the order in which they were taken.
func (e *engine) inHand() []*hand {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.hands)
}

// storeKept stores what was folded before a fold that does not return, or that
// ended its goroutine, so that it is not folded again.
func (e *engine) storeKept(ctx context.Context, h *hand) {
	if err := e.commit(ctx, h, h.takeKept()); err != nil && ctx.Err() == nil {
		e.cfg.Logger.Warn().Err(err).Msg("cannot store what was folded before a fold that does not return")
	}
}

// seized stores what a hand has folded and gives back its documents, but for the
// one whose fold goes on. What that holds in memory is no longer counted: it may
// hold it for ever, and others must go on.
func (e *engine) seized(ctx context.Context, h *hand) {
	e.storeKept(ctx, h)
	e.leases.giveUp(ctx, h, true)
	tickets, results, bytes := h.takeOut()
	if key, ok := h.key(); ok {
		e.slow.add(key)
		e.cfg.Logger.Warn().Stringer("document", e.shown(key)).Dur("after", patience).Int("others", len(tickets)).
			Msg("a fold takes long, its worker is replaced until it returns")
	}
	e.back(h, tickets, results)
	if bytes > 0 {
		e.budget.give(bytes)
	}
}

// replacement is the source of a worker that works until the one that it stands
// in for is back.
type replacement struct {
	worker.Source[dispatcher.Ticket, dispatcher.Result]
	over <-chan struct{}
}

// Take is that of the source until the replacement is over, and then io.EOF,
// which gives the run in hand all the time.
func (r replacement) Take(ctx context.Context, buf []dispatcher.Ticket) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var g sync.WaitGroup
	defer g.Wait()
	g.Go(func() {
		ctx := yield.Start(ctx, "over", 0)
		over := false
		select {
		case <-r.over:
			over = true
		case <-ctx.Done():
		}
		yield.At(ctx, "over")
		if over {
			cancel(io.EOF)
		}
	})
	n, err := r.Source.Take(ctx, buf)
	cancel(nil)
	if n == 0 && context.Cause(ctx) == io.EOF {
		return 0, io.EOF
	}
	return n, err
}
