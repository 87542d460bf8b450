package materializer

import (
	"context"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// item is what a round knows of one document that has something to fold.
type item struct {
	index  int             // of its ticket in the hand
	of     *collection     // nil if nothing is run
	doc    *store.Document // as it was loaded
	size   int64           // of its view, twice, and of operations that were not read
	run    foldRun
	result folded
	commit store.Commit
	began  time.Time
	took   time.Duration   // by the fold
	traced context.Context // of the tracer; nil without one
}

// prepareRun says what there is to fold.
func (it *item) prepareRun(ops []store.Operation) {
	doc := it.doc
	it.run = foldRun{key: doc.Key, view: doc.View, deleted: doc.Deleted, applied: doc.Applied, ops: ops}
}

// ready reports whether the document has all that its run needs.
func (it *item) ready() bool { return len(it.run.ops) > 0 || !it.of.kind.reads() }

// foldAll folds the documents one after the other and prepares their commits. It
// returns those that have something to store.
func (e *engine) foldAll(ctx context.Context, h *hand, b []*item) []*item {
	h.startRound(len(b))
	effects := int64(0)
	for i, it := range b {
		if h.long() || effects > e.budget.room() || !h.startFold(it.index) {
			break
		}
		if i > 0 && e.leases != nil && h.leaseOver(it.doc.Key) {
			h.endFold()
			continue // it goes back, and may be had by others
		}
		e.traceStart(ctx, it)
		it.began = time.Now()
		it.result = e.foldOne(ctx, h, it)
		seized := h.endFold()
		it.took = time.Since(it.began)
		h.spent += it.took
		if it.took >= slowFold {
			e.slow.add(it.doc.Key)
		} else {
			e.slow.remove(it.doc.Key)
		}
		stored := e.prepare(ctx, h, it)
		if !stored {
			e.traceEnd(it, OutcomeStopped, it.result.err)
		}
		if stored {
			effects += it.result.size()
			h.keep(it)
		}
		if seized { // the others are in other hands
			break
		}
	}
	return h.takeKept()
}

// prepare makes the commit of a fold. It returns false if there is nothing to
// store, because the grace is over; then no attempt is counted.
func (e *engine) prepare(ctx context.Context, h *hand, it *item) bool {
	f := &it.result
	if f.err == errLeaseEnds {
		f.err = nil // the rest is another slice
	}
	if f.trouble != nil {
		e.troubleInRun(ctx, h, it)
		return false
	}
	if f.err != nil && ctx.Err() != nil && f.n == 0 {
		return false
	}
	it.commit = store.Commit{
		Key:     it.doc.Key,
		Loaded:  it.doc.Applied,
		Epoch:   it.doc.Epoch,
		Applied: it.doc.Applied + int64(f.n),
		View:    f.view,
		Deleted: f.deleted,
		Effects: f.effects,
		Reads:   f.reads,
	}
	if it.of.kind == folding { // of deltas the store knows
		it.commit.History = allHistory(it.run.ops[:f.n])
	}
	if f.err != nil && ctx.Err() == nil {
		it.commit.Failure = e.failure(&it.run, *f, h.last(it.doc))
	}
	return true
}

// allHistory reports whether operations were all appended as history.
func allHistory(ops []store.Operation) bool {
	for i := range ops {
		if !ops[i].History {
			return false
		}
	}
	return true
}

// last returns the document's earlier failure.
func (h *hand) last(doc *store.Document) *store.Failure {
	if h.careful {
		return h.before
	}
	return doc.Failure
}

func (e *engine) foldOne(ctx context.Context, h *hand, it *item) folded {
	r, c := &it.run, it.of
	r.doc, r.room = it.doc, e.budget.room()
	switch {
	case !c.kind.reads():
	case r.applied > 0 && r.view == nil && !it.doc.Deleted:
		return folded{err: fmt.Errorf("%w: its view is missing", ErrDamaged)}
	case len(r.ops) == 0:
		return folded{err: fmt.Errorf("%w: operation %d is missing", ErrDamaged, r.applied+1)}
	}
	r.limit = worker.StartLimit(c.timeLimit)
	if e.leases != nil {
		r.until = h.lease(r.key).until
	}
	returned := false
	defer func() {
		if !returned {
			// The fold is ending its goroutine. The pool makes another worker; what is
			// left to do here is to count the attempt, or it would go on so for ever.
			// The prefix that is folded for that may end it once more.
			defer e.storeKept(ctx, h)
			defer h.endFold()
			e.blame(ctx, h, it)
		}
	}()
	f := c.fold(ctx, r)
	returned = true
	return f
}
