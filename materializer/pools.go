package materializer

import (
	"context"
	"errors"
	"sync"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/worker"
)

type (
	source     = worker.Source[dispatcher.Ticket, dispatcher.Result]
	stuckError = worker.StuckError[dispatcher.Ticket]
)

// pools are the pools of one Run: that of the workers, that of the suspects, that of the
// generations which are not served, and
// one of a single worker for each whose fold does not return.
type pools struct {
	*engine

	mu    sync.Mutex // guards the following field
	stuck []dispatcher.Ticket
}

// run runs a pool of workers on documents of the table.
func (p *pools) run(ctx context.Context, src source, workers int) error {
	return p.start(ctx, src, worker.Pool[dispatcher.Ticket, dispatcher.Result]{Workers: workers, Batch: p.cfg.Batch, Work: p.work})
}

// careful runs the one worker on suspects.
func (p *pools) careful(ctx context.Context, src source) error {
	return p.start(ctx, src, worker.Pool[dispatcher.Ticket, dispatcher.Result]{Workers: 1, Batch: 1, Work: p.engine.careful})
}

// aside runs workers on documents that are not served.
func (p *pools) aside(ctx context.Context, src source, workers int) error {
	return p.start(ctx, src, worker.Pool[dispatcher.Ticket, dispatcher.Result]{Workers: workers, Batch: p.cfg.Batch, Work: p.workAside})
}

// replace runs one worker in place of that which has the hand, until over is closed.
func (p *pools) replace(ctx context.Context, h *hand, over <-chan struct{}) error {
	switch {
	case h.careful:
		return p.careful(ctx, replacement{p.lane, over})
	case h.aside:
		return p.aside(ctx, replacement{p.engine.aside, over}, 1)
	}
	return p.run(ctx, replacement{p.engine, over}, 1)
}

func (p *pools) start(ctx context.Context, src source, pool worker.Pool[dispatcher.Ticket, dispatcher.Result]) error {
	pool.Grace, pool.Failed = p.cfg.Grace, p.failed
	err := pool.Run(ctx, src)
	yield.At(ctx, "the pool has ended")
	if stuck, ok := errors.AsType[*stuckError](err); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stuck = append(p.stuck, stuck.Items...)
		return stuck.Err
	}
	return err
}

// abandoned returns the documents of runs that were given up.
func (p *pools) abandoned() []dispatcher.Ticket {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stuck
}
