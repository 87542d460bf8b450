package materializer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
	"github.com/rs/zerolog"
)

// failure is the record of a fold that failed: whether and when the document is
// tried again. last is the document's earlier failure; attempts go on counting
// only at the same operation.
func (e *engine) failure(r *foldRun, f folded, last *store.Failure) *store.Failure {
	c := e.collection(r.key.Collection)
	// Sprint outlives an Error method that panics, as that of a typed nil may.
	record := &store.Failure{Seq: r.applied + int64(f.n) + 1, Attempts: 1, Error: fmt.Sprint(f.err)}
	if last != nil && last.Seq == record.Seq {
		record.Attempts = last.Attempts + 1
	}
	if p, ok := errors.AsType[*PanicError](f.err); ok {
		record.Stack = string(p.Stack)
	}
	record.Park = permanent(f.err) || record.Attempts >= c.retry.attempts()
	if after, ok := errors.AsType[*retryError](f.err); ok {
		record.Delay = after.after
	} else {
		record.Delay = c.retry.backoff().Delay(record.Attempts)
	}
	record.Delay = min(record.Delay, store.MaxDelay)
	return record
}

// report counts and logs a failure that was stored.
func (e *engine) report(c *store.Commit) {
	f := c.Failure
	e.counts.failed.Add(1)
	event, message := e.cfg.Logger.Warn().Dur("retry", f.Delay), "fold failed"
	if f.Park {
		e.counts.parked.Add(1)
		event, message = e.cfg.Logger.Error(), "parked: its fold failed for good"
	}
	event.Str("collection", e.shown(c.Key).Collection).Str("document", c.Key.ID).Int64("seq", f.Seq).Int("attempt", f.Attempts).
		Str(zerolog.ErrorFieldName, f.Error).Msg(message)
}

// blame counts the attempt of a fold that is ending its goroutine, and stores
// what it had folded before, apart from the run that it ended.
func (e *engine) blame(ctx context.Context, h *hand, it *item) {
	if ctx.Err() != nil {
		return
	}
	before := it.run
	before.ops, before.limit, before.until = it.run.ops[:it.run.at], worker.Limit{}, time.Time{}
	prefix := *it
	prefix.index = 0
	prefix.result = folded{}
	if it.of.kind.reads() {
		prefix.result = it.of.fold(ctx, &before)
	}
	if prefix.result.trouble != nil {
		prefix.result = folded{} // the attempt counts all the same
	}
	prefix.result.err = worker.ErrGoexit
	if !e.prepare(ctx, h, &prefix) {
		return // the grace was over meanwhile
	}
	if err := e.commit(ctx, newHand(dispatcher.Ticket{Key: it.doc.Key}), []*item{&prefix}); err != nil {
		e.cfg.Logger.Warn().Err(err).Stringer("document", e.shown(it.doc.Key)).Msg("cannot record a failure")
	}
}
