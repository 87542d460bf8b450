package materializer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// careful is the run of one suspect.
func (e *engine) careful(ctx context.Context, tickets []dispatcher.Ticket) []dispatcher.Result {
	h := newHand(tickets...)
	h.careful = true
	e.begin(h)
	defer e.end(ctx, h)
	err := e.mark(ctx, h)
	if h.marked {
		err = e.rounds(ctx, h, []int{0})
		defer e.lane.attempted(tickets[0].Key)
		if h.wasStale() || len(h.unsettled([]int{0})) > 0 {
			e.unmark(ctx, h)
		}
	}
	if err != nil {
		e.trouble(ctx, err, h, h.unsettled([]int{0}))
		e.lane.rest(h.results[0].Until)
	}
	return h.finish(ctx)
}

// ended is what is recorded of an attempt before it is made.
const ended = "the process ended while the document was being folded"

// mark records the attempt, or parks the document if there were enough that
// nobody came back from.
func (e *engine) mark(ctx context.Context, h *hand) error {
	key := h.tickets[0].Key
	if e.collection(key.Collection).paused.Load() {
		h.settle(0, dispatcher.Result{Verdict: dispatcher.Done})
		return nil
	}
	docs, err := e.st.Load(ctx, []store.Key{key}, store.WithoutViews)
	if err != nil {
		return err
	}
	doc := docs[0]
	if r, idle := e.idle(h, &doc); idle {
		h.settle(0, r)
		return nil
	}
	if !e.suspect(doc.Key, doc.Since, doc.Lease) {
		return nil
	}
	if e.lane.pass(key) { // a pool has taken it since the page was read
		h.settle(0, dispatcher.Result{Verdict: dispatcher.Done})
		return nil
	}
	var keep *store.LeaseTerms
	if e.leases != nil {
		taken, err := e.leases.ask(ctx, h, []store.Key{key}, true)
		if err != nil {
			return err
		}
		if doc.Epoch = taken[0].Epoch; doc.Epoch == 0 {
			h.settle(0, e.leases.without(taken[0]))
			return nil
		}
		keep = &e.leases.terms
	}
	e.lane.mu.Lock()
	last, ok := e.lane.unmarked[key]
	e.lane.mu.Unlock()
	if !ok {
		last = doc.Failure
	}
	f := &store.Failure{Seq: doc.Applied + 1, Attempts: 1, Error: ended}
	if last != nil && last.Seq == f.Seq {
		f.Attempts = last.Attempts + 1
	}
	if f.Attempts > e.collection(key.Collection).retry.attempts() {
		f.Attempts, f.Park = last.Attempts, true
	}
	b := []*item{{doc: &doc, commit: store.Commit{Key: key, Loaded: doc.Applied, Epoch: doc.Epoch, Applied: doc.Applied, Failure: f, Keep: keep}}}
	// Before the record is written, so that a Run which is given up meanwhile finds
	// what it has to take back.
	e.lane.attempt(key, last)
	outcomes, err := e.write(ctx, b)
	if err != nil || outcomes[0] == store.Stale || f.Park {
		defer e.lane.attempted(key)
	}
	switch {
	case err != nil:
		return err
	case outcomes[0] == store.Stale:
	case f.Park:
		e.report(&b[0].commit)
		h.settle(0, dispatcher.Result{Verdict: dispatcher.Done})
	default:
		h.before, h.marked = last, true
		e.lane.mu.Lock()
		delete(e.lane.unmarked, key)
		e.lane.mu.Unlock()
	}
	return nil
}

// attempt remembers that an attempt is recorded and made, and what the document's
// failure was before.
func (l *lane) attempt(key store.Key, before *store.Failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marked[key] = before
}

// attempted forgets it.
func (l *lane) attempted(key store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.marked, key)
}

// takeBack takes back the records of attempts that were given up because Run was
// told to stop: nobody makes them any more. The gate is closed.
func (e *engine) takeBack(ctx context.Context) {
	e.lane.mu.Lock()
	marked := maps.Clone(e.lane.marked)
	e.lane.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(marked), compareKeys) {
		var keep *store.LeaseTerms
		if e.leases != nil {
			keep = &e.leases.terms // its fold goes on: it is left behind
		}
		if err := e.restore(ctx, key, marked[key], keep, e.st.Commit); err != nil {
			e.cfg.Logger.Warn().Err(err).Stringer("document", e.shown(key)).Msg("cannot take back the record of an attempt that was given up")
		}
	}
}

func compareKeys(a, b store.Key) int {
	return cmp.Or(strings.Compare(a.Collection, b.Collection), strings.Compare(a.ID, b.ID))
}

// unmark takes the record of an attempt back that was not made: Run was told to
// stop, or the store failed. If that fails too, this process remembers it.
func (e *engine) unmark(ctx context.Context, h *hand) {
	key := h.tickets[0].Key
	err := e.restore(ctx, key, h.before, nil, func(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
		return e.write(ctx, []*item{{commit: commits[0]}})
	})
	if err != nil {
		e.cfg.Logger.Warn().Err(err).Stringer("document", e.shown(key)).Msg("cannot take back the record of an attempt that was not made")
		e.lane.mu.Lock()
		e.lane.unmarked[key] = h.before
		e.lane.mu.Unlock()
	}
}

// restore gives a document the failure back that it had before an attempt was
// recorded, if that is still what it has and nobody else has it now.
func (e *engine) restore(ctx context.Context, key store.Key, before *store.Failure, keep *store.LeaseTerms, commit func(context.Context, []store.Commit) ([]store.Outcome, error)) error {
	// The context of the run may be over.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), time.Second, ErrGraceOver)
	defer cancel()
	docs, err := e.st.Load(ctx, []store.Key{key}, store.WithoutViews)
	if err != nil || !docs[0].Dirty() {
		return err
	}
	doc := &docs[0]
	if f := doc.Failure; f == nil || f.Error != ended || f.Seq != doc.Applied+1 {
		return nil
	}
	if e.leases != nil && doc.Lease.Holder != e.leases.holder+carefully {
		return nil
	}
	_, err = commit(ctx, []store.Commit{{
		Key: key, Loaded: doc.Applied, Epoch: doc.Epoch, Applied: doc.Applied, Failure: before, Keep: keep,
	}})
	return err
}
