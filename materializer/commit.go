package materializer

import (
	"context"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// commit stores the views and settles their documents.
func (e *engine) commit(ctx context.Context, h *hand, b []*item) error {
	if len(b) == 0 {
		return nil
	}
	outcomes, err := e.write(ctx, b)
	if err != nil {
		for i := range b {
			e.traceEnd(b[i], OutcomeStopped, err)
		}
		return err
	}
	now := time.Now()
	for i, outcome := range outcomes {
		it := b[i] // #nosec G602 -- Commit returns one for each
		h.settle(it.index, e.verdict(it, outcome, now))
		err := it.result.err
		if e.leases != nil {
			h.noLease(it.doc.Key) // the commit has given it up
			if outcome == store.Stale {
				err = ErrLeaseLost
				e.counts.lost.Add(1)
			}
		}
		if it.of.kind == mapping && outcome != store.StillDirty {
			e.mapped.take(it.doc.Key)
		}
		e.traceEnd(it, outcomeOf(it, outcome), err)
		if outcome == store.Stale {
			e.counts.stale.Add(1)
			h.lost()
			e.staleAgain(h, it)
			continue
		}
		e.ill.remove(it.doc.Key)
		e.counts.observe(it, now)
		if c := &it.commit; c.Failure != nil {
			e.report(c)
		} else if c.Applied > c.Loaded && !h.aside && it.of.kind == folding {
			doc := *it.doc
			doc.Applied, doc.View, doc.Deleted = c.Applied, c.View, c.Deleted
			e.hot.put(&doc)
		}
	}
	e.last.record(b, outcomes, now)
	return nil
}

// write lets the commits into the store unless Run has returned.
func (e *engine) write(ctx context.Context, b []*item) ([]store.Outcome, error) {
	if !e.gate.enter() {
		return nil, ErrGraceOver
	}
	defer e.gate.leave()
	if ctx.Err() != nil {
		// The grace is over, and what was folded until then is still worth storing, in
		// the time that Run gives to runs which heed that.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(context.WithoutCancel(ctx), worker.Settle, ErrGraceOver)
		defer cancel()
	}
	commits := make([]store.Commit, len(b))
	for i := range b {
		commits[i] = b[i].commit
	}
	return e.st.Commit(ctx, commits)
}

// verdict says what becomes of a document after its commit. A run that reached
// the head it had loaded is followed by another one after the collection's
// interval at the earliest. One that did not, because it was only a slice, is not
// over yet, and one that was stale was none.
func (e *engine) verdict(it *item, outcome store.Outcome, now time.Time) dispatcher.Result {
	var rest time.Time
	if d := it.of.minInterval; d > 0 && it.began.Add(d).After(now) {
		rest = it.began.Add(d)
	}
	f := it.commit.Failure
	switch {
	case outcome == store.Stale:
		return dispatcher.Result{Verdict: dispatcher.Again}
	case f != nil && f.Park:
		return dispatcher.Result{Verdict: dispatcher.Done}
	case f != nil:
		due := now.Add(f.Delay)
		if rest.After(due) {
			due = rest
		}
		return dispatcher.Result{Verdict: dispatcher.Delay, Until: due}
	case outcome == store.StillDirty && it.commit.Applied < it.doc.Head:
		return dispatcher.Result{Verdict: dispatcher.Again}
	case outcome == store.StillDirty:
		return dispatcher.Result{Verdict: dispatcher.Again, Until: rest}
	default:
		return dispatcher.Result{Verdict: dispatcher.Done, Until: rest}
	}
}
