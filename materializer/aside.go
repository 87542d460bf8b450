package materializer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// aside is the source of a pool beside that of the table: it hands out the documents of
// the generations that are made here and not served, those being built and those that
// are kept. They are read from the store, page by page, the oldest first, so that a
// generation of which everything is dirty takes no room in the table; nobody has to be
// told of them in time, and an announcement only says that it is worth a look.
//
// While documents that are served wait for a worker, a worker of this pool rests for as
// long as it has worked, so that neither starves the other.
type aside struct {
	e       *engine
	busy    atomic.Int64  // how many are in hand
	filling chan struct{} // has an element while nobody reads a page

	mu      sync.Mutex // guards the following fields; never held while blocked
	page    []store.Key
	inHand  map[store.Key]uint32    // by the turn of the ticket
	delayed map[store.Key]time.Time // until when
	turn    int                     // which generation is read next
	ticket  uint32                  // the turn of the last ticket
}

const (
	asidePage = 1024
	// mostDelayed bounds how many documents are remembered that must not run yet.
	mostDelayed = 4096
	// asideRest is the longest that a worker rests, and soon is how soon a document is looked at
	// again whose collection is paused or held.
	asideRest = 100 * time.Millisecond
	soon      = 10 * time.Millisecond
)

func newAside(e *engine) *aside {
	a := &aside{e: e, filling: make(chan struct{}, 1), inHand: make(map[store.Key]uint32), delayed: make(map[store.Key]time.Time)}
	a.filling <- struct{}{}
	return a
}

// lookAside says that there may be something to run in a generation that is not served.
func (m *Materializer) lookAside() {
	select {
	case m.asidePoke <- struct{}{}:
	default:
	}
}

// Take waits for documents and fills buf with them.
func (a *aside) Take(ctx context.Context, buf []dispatcher.Ticket) (int, error) {
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if n := a.next(buf); n > 0 {
			return n, nil
		}
		select {
		case <-a.filling:
		case <-ctx.Done():
			continue
		}
		a.fillOrWait(ctx)
		a.filling <- struct{}{}
	}
}

// fillOrWait reads a page, or waits until there may be one.
func (a *aside) fillOrWait(ctx context.Context) {
	if a.some() {
		return // somebody else has read it meanwhile
	}
	wait, err := a.fill(ctx)
	if err != nil && ctx.Err() == nil {
		if errors.Is(err, store.ErrClosed) {
			a.e.fail(err)
		}
		a.e.cfg.Logger.Warn().Err(err).Msg("cannot read the documents of generations that are not served")
		wait = time.Second
	}
	if wait < 0 {
		return
	}
	var due <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
	case <-a.e.asidePoke:
	case <-due:
	}
	yield.At(ctx, "woken to look aside")
}

func (a *aside) some() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.page) > 0
}

// next takes a worker's share of the page. One that a worker of the table has is left out:
// each of the two says what it takes before it looks at the other.
func (a *aside) next(buf []dispatcher.Ticket) (n int) {
	workers := a.e.effort().workers
	a.mu.Lock()
	for share := min(len(buf), (len(a.page)+workers-1)/workers); n < share && len(a.page) > 0; {
		key := a.page[0]
		a.page = a.page[1:]
		if _, held := a.inHand[key]; !held {
			a.ticket++
			a.inHand[key] = a.ticket
			a.busy.Add(1)
			buf[n] = dispatcher.NewTicket(key, a.ticket)
			n++
		}
	}
	a.mu.Unlock()
	kept := 0
	for i := range n {
		if a.e.inPool(buf[i].Key) {
			a.giveBack(&buf[i], dispatcher.Result{})
			continue
		}
		buf[kept] = buf[i]
		kept++
	}
	return kept
}

// giveBack says that a document is not in hand any more. If it is served by now, the table has
// passed it over meanwhile, and is told of it. A ticket that was given back before is refused: the
// document may be in other hands.
func (a *aside) giveBack(ticket *dispatcher.Ticket, r dispatcher.Result) {
	key := ticket.Key
	if !a.giveUp(key, ticket.Turn(), r.Until) {
		return
	}
	switch c := a.e.collection(key.Collection); {
	case c == nil || !c.served.Load():
	case r.Until.IsZero():
		a.e.table.Signal(key)
	default:
		a.e.table.Delay(key, r.Until)
	}
}

// giveUp takes a document out of those in hand, and notes until when it must not be again. It
// reports whether it was in hand by that ticket.
func (a *aside) giveUp(key store.Key, turn uint32, until time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if held, ok := a.inHand[key]; !ok || held != turn {
		return false
	}
	delete(a.inHand, key)
	a.busy.Add(-1)
	if until.IsZero() {
		return true
	}
	if len(a.delayed) >= mostDelayed {
		for other := range a.delayed {
			delete(a.delayed, other)
			break
		}
	}
	a.delayed[key] = until
	return true
}

// has reports whether a document is in hand. A nil aside has none.
func (a *aside) has(key store.Key) bool {
	if a == nil || a.busy.Load() == 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, held := a.inHand[key]
	return held
}

// fill reads the first documents of a generation that may run, of one after the other:
// a page is of one, and the next one of another. It returns how long to wait for the
// first that has to wait, 0 if there is none, less if there are some to run now.
func (a *aside) fill(ctx context.Context) (wait time.Duration, err error) {
	generations := a.e.notServed()
	for i := range generations {
		name := generations[(a.turn+i)%len(generations)]
		page, due, err := a.read(ctx, name)
		if err != nil {
			return 0, err
		}
		if len(page) > 0 {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.page, a.turn = page, a.turn+i+1
			return -1, nil
		}
		if due > 0 && (wait == 0 || due < wait) {
			wait = due
		}
	}
	return wait, nil
}

// read returns a page of one generation, and how long the first one has to wait that has
// to.
func (a *aside) read(ctx context.Context, name string) (page []store.Key, wait time.Duration, err error) {
	mine := a.e.sharing.holder() + besides
	for row, err := range a.e.st.Runnable(ctx, []string{name}) {
		if err != nil {
			return nil, 0, err
		}
		if a.e.suspect(row.Key, row.Since, row.Lease) {
			a.e.suspects.look()
			continue
		}
		due, held := a.until(row.Key)
		if held || a.e.inPool(row.Key) {
			continue // who has it pokes when it is given back
		}
		if row.Lease.Left > 0 && row.Lease.Holder != mine {
			row.Wait = max(row.Wait, lookAgain(row.Lease))
		}
		switch due = max(due, row.Wait); {
		case due == 0:
			page = append(page, row.Key)
		case wait == 0 || due < wait:
			wait = due
		}
		if len(page) == asidePage {
			break
		}
	}
	return page, wait, nil
}

// until returns for how long a document has to wait, and whether it is in hand.
func (a *aside) until(key store.Key) (d time.Duration, held bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, held := a.inHand[key]; held {
		return 0, true
	}
	if at, ok := a.delayed[key]; ok {
		if d = time.Until(at); d <= 0 {
			delete(a.delayed, key)
			d = 0
		}
	}
	return d, false
}

// Done gives documents back. What is still dirty is read from the store again.
func (a *aside) Done(tickets []dispatcher.Ticket, results []dispatcher.Result) {
	for i := range tickets {
		a.giveBack(&tickets[i], results[i])
		a.e.waits.notify(a.e.bare(tickets[i].Key))
	}
	a.e.lane.returned(tickets)
	a.e.lookAside()
}

// rest lets the documents that are served go first.
func (a *aside) rest(ctx context.Context, worked time.Duration) {
	if a.e.urgent.Load() || a.e.effort().unrested || a.e.table.Counts().Queued == 0 {
		return
	}
	if worked > 0 {
		timer := time.NewTimer(min(worked, asideRest))
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-a.e.stopping:
		case <-timer.C:
		}
	}
	yield.At(ctx, "rested")
}

// workAside is the run of documents that are not served.
func (e *engine) workAside(ctx context.Context, tickets []dispatcher.Ticket) []dispatcher.Result {
	began := time.Now()
	h := newHand(tickets...)
	h.aside = true
	results := e.workOn(ctx, h)
	// The documents are committed and not given back yet: they can wait.
	e.aside.rest(ctx, time.Since(began))
	return results
}
