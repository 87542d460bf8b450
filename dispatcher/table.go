package dispatcher

import (
	"context"
	"time"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// Ticket is a document in the hands of a worker.
type Ticket struct {
	Key  store.Key
	slot uint32
	turn uint32
}

// NewTicket is for sources that are no [Table]: it makes a ticket whose turn tells the times apart at
// which the source has handed the document out.
func NewTicket(k store.Key, turn uint32) Ticket { return Ticket{Key: k, turn: turn} }

// Turn returns what [NewTicket] was given.
func (t *Ticket) Turn() uint32 { return t.turn }

// Table is the in-flight table, see [State] for its arrows: one entry per
// document that is queued, running, delayed or cooling, and the run queue through
// them. All methods may be called at once from any number of goroutines. It reads
// no clock, but for [Table.SampleWaits].
type Table struct {
	hasher
	limit  int // most entries that are queued, running or requeue
	takers int
	wake   chan struct{} // for the feed: something to read, or another due time

	// mu guards the following fields. It is never held while blocked: one short
	// critical section per signal, take and done is the whole concurrency of this
	// file. Sharding it gained nothing on 2 cores, where data layout does.
	mu          mutex
	slab        slab
	slabIdle    bool // most of the slab was not needed of late: drop it when empty
	index       index
	collections collections
	head, tail  uint32 // the run queue: slot+1 of its ends
	delays      delays // of the entries that are delayed or cooling
	waiters     waiters
	turn        uint32 // of the last ticket
	sample      sample
	counts      Counts
	// reread is set when a signal did not fit: the store knows of a document that
	// has no entry here. It is cleared by the feed before it reads.
	reread   bool
	reading  bool      // the feed is reading
	rereadAt time.Time // when the first delayed document that did not fit is due
}

// DefaultLimit is how many documents are queued or running at most if nothing
// else is said. At 53 bytes each and the ids beside, that is about 6 MiB.
const DefaultLimit = 65536

// NewTable returns a table for at most limit queued and running documents, 0
// meaning [DefaultLimit], of which takers workers take their share.
func NewTable(limit, takers int) *Table {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Table{
		hasher: newHasher(),
		limit:  limit,
		takers: max(takers, 1),
		wake:   make(chan struct{}, 1),
	}
}

// Signal says that a document may be dirty. It reports false if the document
// has no entry and there is no room for one; the store is read again when there
// is.
func (t *Table) Signal(k store.Key) bool {
	hash := t.hash(k)
	if !t.mu.TryLock() {
		t.mu.lockBusy()
	}
	fits := t.signalLocked(k, hash)
	t.mu.Unlock()
	return fits
}

// SignalAll is Signal for each key, in order, in one critical section.
func (t *Table) SignalAll(keys []store.Key) {
	if len(keys) == 1 {
		t.Signal(keys[0])
		return
	}
	var some [64]uint32
	hashes := t.hashSome(&some, keys)
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(keys) > 0 {
		for i, hash := range hashes {
			t.signalLocked(keys[i], hash)
		}
		keys = keys[len(hashes):]
		hashes = t.hashSome(&some, keys)
	}
}

func (t *Table) signalLocked(k store.Key, hash uint32) bool {
	t.counts.Signals++
	slot, found := t.findLocked(k, hash)
	if !found {
		if t.fullLocked() {
			t.counts.Overflowed++
			t.reread = true
			return false
		}
		t.pushLocked(t.insertLocked(k, hash))
		t.waiters.wakeOne()
		return true
	}
	e := t.slab.at(slot)
	switch e.state {
	case Running:
		e.state = Requeue
	case Cooling: // it stays where it is in the heap
		e.state = Delayed
		t.counts.Cooling--
		t.counts.Delayed++
	}
	e.absorbed++
	t.counts.Absorbed++
	return true
}

// Take waits until a document is queued and fills buf with tickets: one, or this
// worker's share of the queue if it is longer. It returns 0 and the context's
// cause when ctx ends. Each ticket must come back through Done.
func (t *Table) Take(ctx context.Context, buf []Ticket) (int, error) {
	t.mu.Lock()
	for {
		if ctx.Err() != nil {
			t.passOnLocked()
			t.mu.Unlock()
			return 0, context.Cause(ctx)
		}
		if n := t.takeLocked(buf); n > 0 {
			waited, report := t.sample.report()
			t.mu.Unlock()
			if report != nil {
				report(waited)
			}
			return n, nil
		}
		me := t.waiters.push()
		t.mu.Unlock()
		select {
		case <-me.wake:
			yield.At(ctx, "woken to take")
			t.mu.Lock()
			t.waiters.woken(me)
		case <-ctx.Done():
			yield.At(ctx, "stopped at take")
			t.mu.Lock()
			t.waiters.withdraw(me)
		}
	}
}

func (t *Table) takeLocked(buf []Ticket) int {
	share := (t.counts.Queued + t.takers - 1) / t.takers
	n := min(len(buf), share)
	for i := range n {
		slot := t.popLocked()
		if slot+1 == t.sample.slot {
			t.sample.end()
		}
		e := t.slab.at(slot)
		t.turn++
		e.state, e.link, e.absorbed = Running, t.turn, 0
		ticket := &buf[i] // field by field: a whole one is made elsewhere and copied, which took 5 ns
		ticket.Key.Collection, ticket.Key.ID = t.collections.name(e.collection), e.id
		ticket.slot, ticket.turn = slot, t.turn
	}
	t.counts.Running += n
	t.counts.Takes += int64(n)
	t.passOnLocked()
	return n
}

// passOnLocked is called by whoever leaves the queue: while a document is in it,
// either no worker waits or one is being woken.
func (t *Table) passOnLocked() {
	if t.counts.Queued > 0 {
		t.waiters.wakeOne()
	}
}

// Done gives tickets back, each with how its run went. A ticket that was given
// back before is refused: Done changes nothing for it, and returns how many were
// accepted. requeued, if not nil, is called outside of the lock for each
// document that goes round again because of signals, with their number.
func (t *Table) Done(tickets []Ticket, results []Result, requeued func(k store.Key, signals int)) int {
	type round struct {
		key     store.Key
		signals int
	}
	var rounds []round
	accepted := 0
	t.mu.Lock()
	for i := range tickets {
		ticket := &tickets[i]
		if !t.slab.has(ticket.slot) {
			continue
		}
		e := t.slab.at(ticket.slot)
		if !e.inHand(ticket.turn) {
			continue
		}
		accepted++
		if t.doneLocked(ticket.slot, e, results[i]) {
			t.counts.Requeues++
			if requeued != nil {
				rounds = append(rounds, round{ticket.Key, int(e.absorbed)})
			}
		}
	}
	t.passOnLocked()
	poke := t.wantsReadLocked()
	t.mu.Unlock()
	if poke {
		t.poke()
	}
	for _, r := range rounds {
		requeued(r.key, r.signals)
	}
	return accepted
}

// doneLocked reports whether the requeue flag sent the document round again.
func (t *Table) doneLocked(slot uint32, e *entry, r Result) bool {
	requeue := e.state == Requeue
	t.counts.Running--
	switch {
	case r.Verdict == Delay, requeue && !r.Until.IsZero(), r.Verdict == Again && !r.Until.IsZero():
		t.delayLocked(slot, r.Until, Delayed)
	case r.Verdict == Done && !requeue && r.Until.IsZero():
		t.removeLocked(slot, e)
	case r.Verdict == Done && !requeue:
		t.delayLocked(slot, r.Until, Cooling)
	default:
		t.pushLocked(slot)
		return requeue
	}
	return false
}

func (t *Table) fullLocked() bool { return t.counts.Queued+t.counts.Running >= t.limit }
