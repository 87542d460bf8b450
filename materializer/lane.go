package materializer

import (
	"context"
	"errors"
	"maps"
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
	passed   map[store.Key]struct{}       // passed over because the pool had them
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
		if l.pass(row.Key) {
			// Its fold hangs in a pool, which does not have the lease any more; or what another
			// suspect has told it is older than what the pool has it for.
			continue
		}
		if l.e.leases != nil && row.Lease.Left > 0 {
			row.Wait = max(row.Wait, lookAgain(row.Lease))
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

// pass reports whether one of the pools has a document in hand, and makes sure that the lane
// looks again when it is given back.
func (l *lane) pass(key store.Key) bool {
	l.mu.Lock()
	l.passed[key] = struct{}{} // first, so that a return after the look is noticed
	l.mu.Unlock()
	if l.e.inPool(key) || l.e.aside.has(key) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.passed, key)
	return false
}

// returned hears of documents that the pool has given back to the table.
func (l *lane) returned(tickets []dispatcher.Ticket) {
	if l.e.leases == nil && l.e.suspects.end.Load() == 0 {
		return // there is no lane
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range tickets {
		if _, ok := l.passed[tickets[i].Key]; ok {
			delete(l.passed, tickets[i].Key)
			l.e.suspects.look()
		}
	}
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

func (l *lane) rest(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
}
