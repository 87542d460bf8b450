package materializer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// engine is one call of Run: it does the runs of the pool's workers.
type engine struct {
	*Materializer
	gate gate
	fail context.CancelCauseFunc // ends Run, for an error after which no run can go well
	// troubles counts the calls of the store that failed in a row, for backing off.
	troubles atomic.Int64

	// mu guards the following field.
	mu sync.Mutex
	// folding has an element for each fold that is going on: its document.
	folding map[*store.Key]struct{}
}

// Take hands out documents; with Done it is what the pool needs of the table.
func (e *engine) Take(ctx context.Context, buf []dispatcher.Ticket) (int, error) {
	return e.table.Take(ctx, buf)
}

// Done gives documents back, and then wakes the readers that wait for them. In
// that order: a reader that finds its document still dirty signals it unless it
// is in hand, and one that looked before would wait for a run that is over. Each
// result wakes, also one that could not be stored: who waits looks by itself.
func (e *engine) Done(tickets []dispatcher.Ticket, results []dispatcher.Result) {
	var requeued func(store.Key, int)
	if debug := e.cfg.Logger.Debug(); debug.Enabled() {
		requeued = func(k store.Key, signals int) {
			e.cfg.Logger.Debug().Str("collection", k.Collection).Str("document", k.ID).Int("signals", signals).Msg("requeued")
		}
	}
	e.table.Done(tickets, results, requeued)
	for i := range tickets {
		e.waits.notify(tickets[i].Key)
	}
}

// work is one run: it loads the documents, folds their operations and commits
// the views, all documents together. Each fails alone. Those for whose operations
// the budget has no room come after the others, in the same run: given back
// unread, they would be taken again behind the large document that filled it, and
// so until that one is done.
func (e *engine) work(ctx context.Context, tickets []dispatcher.Ticket) []dispatcher.Result {
	results := make([]dispatcher.Result, len(tickets))
	err := e.try(ctx, tickets, results)
	if err != nil && len(tickets) > 1 && perhapsOfOne(ctx, err) {
		// A row or page that cannot be read: find out whose it is, so that the others
		// are not held up by it.
		for i := range tickets {
			if err := e.try(ctx, tickets[i:i+1], results[i:i+1]); err != nil {
				e.trouble(ctx, err, results[i:i+1])
			}
		}
		return results
	}
	if err != nil {
		e.trouble(ctx, err, results)
	} else {
		e.troubles.Store(0)
	}
	return results
}

// perhapsOfOne reports whether an error of a batch may be the fault of one
// document of it.
func perhapsOfOne(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !slices.ContainsFunc(
		[]error{store.ErrClosed, store.ErrBusy, store.ErrFull, store.ErrInDoubt, ErrGraceOver},
		func(target error) bool { return errors.Is(err, target) })
}

// try is work for as long as nothing fails.
func (e *engine) try(ctx context.Context, tickets []dispatcher.Ticket, results []dispatcher.Result) error {
	b, err := e.load(ctx, tickets, results)
	for err == nil && len(b.docs) > 0 {
		var rest *batch
		if rest, err = e.read(ctx, b); err == nil {
			e.foldAll(ctx, b)
			err = e.commit(ctx, b, results)
		}
		b = rest
	}
	return err
}

// batch is what a run knows of the documents that have something to fold.
type batch struct {
	index   []int // of the document's ticket
	docs    []store.Document
	runs    []foldRun
	commits []store.Commit
	done    []int // how many operations each commit adds
}

// load reads the documents. It sets the results of those that have nothing to
// fold.
func (e *engine) load(ctx context.Context, tickets []dispatcher.Ticket, results []dispatcher.Result) (*batch, error) {
	keys := make([]store.Key, len(tickets))
	for i := range tickets {
		keys[i] = tickets[i].Key
	}
	docs, err := e.st.Load(ctx, keys, store.WithViews)
	if err != nil {
		return nil, err
	}
	b := &batch{}
	for i := range docs {
		doc := &docs[i]
		switch {
		case doc.Parked():
			results[i] = dispatcher.Result{Verdict: dispatcher.Park}
		case !doc.Dirty():
			results[i] = dispatcher.Result{Verdict: dispatcher.Done}
		case doc.Failure != nil && doc.Failure.Delay > 0:
			results[i] = delayed(doc.Failure.Delay)
		default:
			b.index = append(b.index, i)
			b.docs = append(b.docs, *doc)
			results[i] = dispatcher.Result{Verdict: dispatcher.Again} // until a commit says otherwise
		}
	}
	return b, nil
}

// read reads the operations of the first documents of a batch, as many as the
// budget has room for. The others are the rest.
func (e *engine) read(ctx context.Context, b *batch) (rest *batch, err error) {
	ranges := make([]store.Range, len(b.docs))
	for i := range b.docs {
		doc := &b.docs[i]
		ranges[i] = store.Range{Key: doc.Key, From: doc.Applied + 1, To: doc.Head}
	}
	budget := store.Budget{Operations: sliceOperations, Bytes: max(e.cfg.Bytes/int64(e.cfg.Workers), 1)}
	ops, err := e.st.Operations(ctx, ranges, budget)
	if err != nil {
		return nil, err
	}
	// The first one gets an operation whatever the budget, so that it is damaged if
	// it has none; those behind get their turn as the first of the rest.
	n := 1
	for n < len(ops) && len(ops[n]) > 0 {
		n++
	}
	rest = &batch{index: b.index[n:], docs: b.docs[n:]}
	b.index, b.docs = b.index[:n], b.docs[:n]
	b.runs = make([]foldRun, n)
	for i := range b.docs {
		doc := &b.docs[i]
		b.runs[i] = foldRun{key: doc.Key, view: doc.View, applied: doc.Applied}
		b.runs[i].ops, b.runs[i].broken = sound(doc, ops[i])
	}
	return rest, nil
}

// sound returns the operations up to the first that is missing, and an error if
// there is one. Folding past a gap would make a view that looks right.
func sound(doc *store.Document, ops []store.Operation) ([]store.Operation, error) {
	if doc.Applied > 0 && doc.View == nil {
		return nil, Permanent(fmt.Errorf("%w: its view is missing", ErrDamaged))
	}
	for i := range ops {
		if want := doc.Applied + 1 + int64(i); ops[i].Seq != want {
			return ops[:i], Permanent(fmt.Errorf("%w: operation %d is missing", ErrDamaged, want))
		}
	}
	if len(ops) == 0 {
		return nil, Permanent(fmt.Errorf("%w: operation %d is missing", ErrDamaged, doc.Applied+1))
	}
	return ops, nil
}

// foldAll folds the documents one after the other and prepares their commits.
func (e *engine) foldAll(ctx context.Context, b *batch) {
	b.commits = make([]store.Commit, 0, len(b.runs))
	b.done = make([]int, 0, len(b.runs))
	index := b.index[:0]
	for i := range b.runs {
		r := &b.runs[i]
		f := e.foldOne(ctx, r, &b.docs[i])
		if f.err != nil && ctx.Err() != nil && f.n == 0 {
			continue // the grace is over; no attempt is counted
		}
		c := store.Commit{Key: r.key, Loaded: r.applied, Epoch: b.docs[i].Epoch, Applied: r.applied + int64(f.n), View: f.view}
		if f.err != nil && ctx.Err() == nil {
			c.Failure = e.failure(r, f, b.docs[i].Failure)
		}
		index = append(index, b.index[i])
		b.commits = append(b.commits, c)
		b.done = append(b.done, f.n)
	}
	b.index = index
}

func (e *engine) foldOne(ctx context.Context, r *foldRun, doc *store.Document) folded {
	c := e.collection(r.key.Collection)
	r.limit = worker.StartLimit(c.timeLimit)
	e.mu.Lock()
	e.folding[&r.key] = struct{}{}
	e.mu.Unlock()
	returned := false
	defer func() {
		e.mu.Lock()
		delete(e.folding, &r.key)
		e.mu.Unlock()
		if !returned {
			// The fold is ending its goroutine. The pool makes another worker; what is
			// left to do here is to count the attempt, or it would go on so for ever.
			e.blame(ctx, r, doc)
		}
	}()
	f := c.fold(ctx, r)
	returned = true
	return f
}

// commit stores the views and sets the results of their documents.
func (e *engine) commit(ctx context.Context, b *batch, results []dispatcher.Result) error {
	if len(b.commits) == 0 {
		return nil
	}
	if !e.gate.enter() {
		return ErrGraceOver
	}
	defer e.gate.leave()
	if ctx.Err() != nil {
		// The grace is over, and what was folded until then is still worth storing, in
		// the time that Run gives to runs which heed that.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(context.WithoutCancel(ctx), worker.Settle, ErrGraceOver)
		defer cancel()
	}
	outcomes, err := e.st.Commit(ctx, b.commits)
	if err != nil {
		return err
	}
	stored := make([]changed, 0, len(outcomes))
	for i, outcome := range outcomes {
		c := &b.commits[i]
		result := &results[b.index[i]]
		if outcome == store.Stale {
			e.counts.stale.Add(1)
			*result = dispatcher.Result{Verdict: dispatcher.Again}
			continue
		}
		e.counts.runs.Add(1)
		e.counts.operations.Add(int64(b.done[i]))
		stored = append(stored, changed{key: c.Key, applied: c.Applied})
		if c.Failure != nil {
			e.report(c)
		}
		switch {
		case c.Failure != nil && c.Failure.Park:
			*result = dispatcher.Result{Verdict: dispatcher.Park}
		case c.Failure != nil:
			*result = delayed(c.Failure.Delay)
		case outcome == store.StillDirty:
			*result = dispatcher.Result{Verdict: dispatcher.Again}
		default:
			*result = dispatcher.Result{Verdict: dispatcher.Done}
		}
	}
	e.changes.Publish(stored...)
	return nil
}

// trouble handles an error that ended a whole run, mostly one of the store: it is
// nobody's fault here, so no attempt is counted, and all documents of the run
// back off together.
func (e *engine) trouble(ctx context.Context, err error, results []dispatcher.Result) {
	if errors.Is(err, store.ErrClosed) {
		e.fail(err)
	}
	if ctx.Err() == nil {
		e.cfg.Logger.Warn().Err(err).Int("documents", len(results)).Msg("a run was thrown away")
	}
	again := delayed(worker.Backoff{Cap: 10 * time.Second}.Delay(int(e.troubles.Add(1))))
	for i := range results {
		results[i] = again
	}
}

// failed makes the results of a run that ended in a panic outside of a fold.
func (e *engine) failed(tickets []dispatcher.Ticket, err error) []dispatcher.Result {
	results := make([]dispatcher.Result, len(tickets))
	e.trouble(context.Background(), err, results)
	return results
}

func delayed(d time.Duration) dispatcher.Result {
	return dispatcher.Result{Verdict: dispatcher.Delay, Until: time.Now().Add(d)}
}
