package materializer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// lane is the source of the suspects' pool. It reads them from the store, where
// they come first: the oldest is first.
type lane struct {
	e *engine

	mu       sync.Mutex // guards the following fields; never held while blocked
	page     []store.Key
	inHand   map[store.Key]struct{}
	unmarked map[store.Key]*store.Failure // whose attempt was recorded and not made
	// marked are those whose attempt is being made, with their failure before.
	marked map[store.Key]*store.Failure
	until  time.Time // the store failed: nothing before
}

const lanePage = 256

// Take returns the next suspect, and waits if there is none.
func (l *lane) Take(ctx context.Context, buf []dispatcher.Ticket) (int, error) {
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if key, ok := l.next(); ok {
			buf[0] = dispatcher.Ticket{Key: key}
			return 1, nil
		}
		wait, err := l.fill(ctx)
		if err != nil && ctx.Err() == nil {
			if errors.Is(err, store.ErrClosed) {
				l.e.fail(err)
			}
			l.e.cfg.Logger.Warn().Err(err).Msg("cannot read the suspects")
			wait = time.Second
		}
		if wait < 0 {
			continue
		}
		l.wait(ctx, wait)
	}
}

// wait waits until there may be a suspect, at most for d if that is not 0.
func (l *lane) wait(ctx context.Context, d time.Duration) {
	var due <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-l.e.suspects.poke:
	case <-due:
	}
	yield.At(ctx, "woken to look for suspects")
}

func (l *lane) next() (key store.Key, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.page) > 0 && !ok {
		key, l.page = l.page[0], l.page[1:]
		_, held := l.inHand[key]
		ok = !held
	}
	if ok {
		l.inHand[key] = struct{}{}
	}
	return key, ok
}

// fill reads the next page. It returns how long to wait for a suspect that waits
// after a failure, 0 if there is none, less if there is one to run now.
func (l *lane) fill(ctx context.Context) (wait time.Duration, err error) {
	l.mu.Lock()
	rest, inHand := time.Until(l.until), maps.Clone(l.inHand)
	l.mu.Unlock()
	if rest > 0 {
		return rest, nil
	}
	var page []store.Key
	for row, err := range l.e.mayBeSuspects(ctx) {
		if err != nil {
			return 0, err
		}
		if len(page) == lanePage {
			break
		}
		if !l.e.suspect(row.Key, row.Since, row.Lease) {
			continue
		}
		if _, held := inHand[row.Key]; held {
			continue
		}
		if l.e.collection(row.Key.Collection).paused.Load() {
			continue // refresh looks again when it goes on
		}
		if l.e.leases != nil {
			if l.e.inPool(row.Key) {
				continue // its fold hangs there, without the lease
			}
			if l.e.aside.has(row.Key) {
				continue // so in the other pool
			}
			if row.Lease.Left > 0 {
				row.Wait = max(row.Wait, lookAgain(row.Lease))
			}
		}
		if row.Wait == 0 {
			page = append(page, row.Key)
		} else if wait == 0 || row.Wait < wait {
			wait = row.Wait
		}
	}
	if len(page) == 0 {
		return wait, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.page = page
	return -1, nil
}

// Done gives suspects back. What is still dirty goes to the table, which finds
// out whether it is one still.
func (l *lane) Done(tickets []dispatcher.Ticket, results []dispatcher.Result) {
	l.mu.Lock()
	for i := range tickets {
		delete(l.inHand, tickets[i].Key)
	}
	l.mu.Unlock()
	for i := range tickets {
		if results[i].Verdict != dispatcher.Done {
			l.e.again(tickets[i].Key)
		}
		l.e.waits.notify(l.e.bare(tickets[i].Key))
	}
	l.e.suspects.look()
}

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

// has reports whether the lane has a document in hand. A nil lane has none.
func (l *lane) has(key store.Key) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, has := l.inHand[key]
	return has
}

// inPool reports whether a worker of the pool has a document.
func (e *engine) inPool(key store.Key) bool {
	s := e.table.State(key)
	return s == dispatcher.Running || s == dispatcher.Requeue
}

func (l *lane) rest(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
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
	var keep *store.LeaseTerms
	if e.leases != nil {
		if e.inPool(key) || e.aside.has(key) { // since the page was read
			h.settle(0, dispatcher.Result{Verdict: dispatcher.Done})
			return nil
		}
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
	b := []item{{doc: doc, commit: store.Commit{Key: key, Loaded: doc.Applied, Epoch: doc.Epoch, Applied: doc.Applied, Failure: f, Keep: keep}}}
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
		return e.write(ctx, []item{{commit: commits[0]}})
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
