package dispatcher

import (
	"time"

	"github.com/refold-go/refold/store"
)

// Counts are the table's gauges and counters.
type Counts struct {
	Queued, Running, Delayed int   // entries now; Running includes requeue
	Cooling                  int   // entries now
	Signals                  int64 // all, whatever became of them
	Absorbed                 int64 // those that an entry absorbed
	Overflowed               int64 // those that did not fit
	Takes                    int64 // documents given to a worker
	Requeues                 int64 // runs after which signals sent the document round again
}

// State returns where the document is.
func (t *Table) State(k store.Key) State {
	hash := t.hash(k)
	t.mu.Lock()
	defer t.mu.Unlock()
	if slot, found := t.findLocked(k, hash); found {
		return t.slab.at(slot).state
	}
	return Idle
}

// Due returns when a delayed or cooling document is due; the zero time if it is
// neither. It looks at all of them, which is for whoever asks about one.
func (t *Table) Due(k store.Key) time.Time {
	hash := t.hash(k)
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, found := t.findLocked(k, hash)
	if !found {
		return time.Time{}
	}
	for _, d := range t.delays {
		if d.slot == slot {
			return d.due
		}
	}
	return time.Time{}
}

// Counts returns the gauges and counters as they are at one moment.
func (t *Table) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}
