package materializer

import (
	"context"
	"errors"
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
	gate   gate
	fail   context.CancelCauseFunc // ends Run, for an error after which no run can go well
	budget *budget
	slow   keySet // documents that are taken one by one
	views  sizes
	hot    *hot // nil if the store is shared, or resident
	lane   *lane
	aside  *aside
	// urgent tells that what is served waits for a generation beside it, and owed for how long
	// the workers of the pool have to rest yet, in nanoseconds, to make room for one.
	urgent   atomic.Bool
	owed     atomic.Int64
	stopping <-chan struct{}
	leases   *leases       // nil if the store is not shared
	busy     chan struct{} // receives when a hand was taken, for mind
	// troubles counts the calls of the store that failed in a row, for backing off.
	troubles atomic.Int64

	// mu guards the following fields.
	mu    sync.Mutex
	hands []*hand
	// exerted is closed, and made anew, when more or less is given to generations that are built.
	exerted chan struct{}
}

// newEngine makes the engine of a Run that is told to stop when stopping is
// closed.
func newEngine(m *Materializer, fail context.CancelCauseFunc, stopping <-chan struct{}) *engine {
	workers := m.cfg.Workers
	if m.suspects.end.Load() > 0 || m.cfg.Shared {
		workers++ // the one on suspects needs a share too
	}
	if len(m.notServed()) > 0 {
		workers += m.cfg.Workers // as many as there may be in the end, see effort
	}
	e := &engine{
		Materializer: m,
		fail:         fail,
		budget:       newBudget(m.cfg.Bytes, workers, stopping),
		busy:         make(chan struct{}, 1),
		exerted:      make(chan struct{}),
		stopping:     stopping,
	}
	e.aside = newAside(e)
	e.lane = &lane{e: e, inHand: make(map[store.Key]struct{}), passed: make(map[store.Key]struct{}), unmarked: make(map[store.Key]*store.Failure), marked: make(map[store.Key]*store.Failure)}
	m.suspects.lane.Store(e.lane)
	m.beside.Store(e.aside)
	if _, resident := m.st.(store.Resident); !resident && !m.cfg.Shared {
		e.hot = newHot(m.cfg.Bytes)
	}
	if m.cfg.Shared {
		e.leases = &leases{e: e, holder: m.sharing.holder(), terms: m.cfg.terms()}
	}
	return e
}

// Take hands out documents; with Done it is what the pool needs of the table.
func (e *engine) Take(ctx context.Context, buf []dispatcher.Ticket) (int, error) {
	e.makeRoom(ctx)
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
			e.cfg.Logger.Debug().Str("collection", e.shown(k).Collection).Str("document", k.ID).Int("signals", signals).Msg("requeued")
		}
	}
	e.table.Done(tickets, results, requeued)
	e.lane.returned(tickets)
	aside := false
	for i := range tickets {
		key := tickets[i].Key
		if c := e.collection(key.Collection); c != nil {
			aside = aside || !c.served.Load()
			key.Collection = c.name
		}
		e.waits.notify(key)
	}
	if aside {
		e.lookAside() // the other pool has passed it over meanwhile
	}
}

// stored returns what is to be told of what an append has stored, nil if nothing keeps it.
func (e *engine) stored() func([]store.Append, store.Appended, time.Time) {
	if e.hot == nil {
		return nil
	}
	return func(appends []store.Append, appended store.Appended, at time.Time) {
		e.hot.appended(e.registry.Load(), appends, appended, at)
	}
}

// begin registers what a worker has taken, until end.
func (e *engine) begin(h *hand) {
	e.mu.Lock()
	e.hands = append(e.hands, h)
	e.mu.Unlock()
	select {
	case e.busy <- struct{}{}:
	default:
	}
}

func (e *engine) end(ctx context.Context, h *hand) {
	e.leases.giveUp(ctx, h, false)
	h.drop(e.budget)
	e.mu.Lock()
	e.hands = slices.DeleteFunc(e.hands, func(other *hand) bool { return other == h })
	e.mu.Unlock()
	h.end()
}

// trouble handles an error that ended a whole run, mostly one of the store: it is
// nobody's fault here, so no attempt is counted, and the documents back off
// together. They are taken one by one next time, in case it is about one of them.
func (e *engine) trouble(ctx context.Context, err error, h *hand, left []int) {
	if errors.Is(err, store.ErrClosed) {
		e.fail(err)
	}
	if ctx.Err() == nil && !errors.Is(err, errStopping) {
		e.cfg.Logger.Warn().Err(err).Int("documents", len(left)).Msg("a run was thrown away")
	}
	again := delayed(worker.Backoff{Cap: 10 * time.Second}.Delay(int(e.troubles.Add(1))))
	for _, i := range left {
		e.slow.add(h.tickets[i].Key)
		h.settle(i, again)
	}
}

// failed makes the results of a run that ended in a panic outside of a fold.
func (e *engine) failed(tickets []dispatcher.Ticket, err error) []dispatcher.Result {
	h := newHand(tickets...)
	e.trouble(context.Background(), err, h, h.unsettled(all(len(tickets))))
	return h.results
}

func delayed(d time.Duration) dispatcher.Result {
	return dispatcher.Result{Verdict: dispatcher.Delay, Until: time.Now().Add(d)}
}

// all returns the numbers below n.
func all(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}
