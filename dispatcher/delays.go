package dispatcher

import (
	"container/heap"
	"time"

	"github.com/refold-go/refold/store"
)

// delays is a heap of the delayed and cooling entries, the one that is due first on
// top.
type delays []delay

type delay struct {
	due  time.Time
	slot uint32
}

func (d delays) Len() int           { return len(d) }
func (d delays) Less(i, j int) bool { return d[i].due.Before(d[j].due) }
func (d delays) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *delays) Push(x any)        { *d = append(*d, x.(delay)) }
func (d *delays) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}

// Delay says that a document is dirty and must not run before due, as the store
// remembers from an earlier life. If the document has an entry, that says when it
// is next, and Delay does nothing; only a cooling document is no longer clean.
func (t *Table) Delay(k store.Key, due time.Time) {
	hash := t.hash(k)
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, found := t.findLocked(k, hash)
	switch {
	case !found:
		t.delayLocked(t.insertLocked(k, hash), due, Delayed)
	case t.slab.at(slot).state == Cooling:
		t.slab.at(slot).state = Delayed
		t.counts.Cooling--
		t.counts.Delayed++
	}
}

// Wake queues the delayed documents that are due, removes the cooling ones, and
// returns when the next one is due; the zero time if there is none. What does not
// fit is read from the store again.
func (t *Table) Wake(now time.Time) (next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.delays) > 0 && !t.delays[0].due.After(now) {
		slot := heap.Pop(&t.delays).(delay).slot
		e := t.slab.at(slot)
		if e.state == Cooling {
			t.counts.Cooling--
			t.removeLocked(slot, e)
			continue
		}
		t.counts.Delayed--
		if t.fullLocked() {
			t.removeLocked(slot, e)
			t.reread = true
			continue
		}
		t.pushLocked(slot)
		t.waiters.wakeOne()
	}
	if !t.rereadAt.IsZero() && !t.rereadAt.After(now) {
		t.rereadAt, t.reread = time.Time{}, true
	}
	next = t.rereadAt
	if len(t.delays) > 0 && (next.IsZero() || t.delays[0].due.Before(next)) {
		next = t.delays[0].due
	}
	return next
}

// delayLocked puts an entry that is in no state's books into the delayed or the
// cooling ones. Both together have a bound of their own. A delayed one that does
// not fit is left to the store; a cooling one is clean, and is forgotten, so that
// it may run sooner than it should.
func (t *Table) delayLocked(slot uint32, due time.Time, s State) {
	e := t.slab.at(slot)
	full := len(t.delays) >= t.limit
	switch {
	case full && s == Cooling:
		t.removeLocked(slot, e)
		return
	case full:
		t.removeLocked(slot, e)
		if t.rereadAt.IsZero() || due.Before(t.rereadAt) {
			t.rereadAt = due
		}
	case s == Cooling:
		t.counts.Cooling++
	default:
		t.counts.Delayed++
	}
	if !full {
		e.state = s
		heap.Push(&t.delays, delay{due: due, slot: slot})
	}
	t.poke()
}
