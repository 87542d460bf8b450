package dispatcher

import (
	"errors"
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
)

// failer is what tests, fuzz targets and rapid have in common.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// newTable returns a table that is checked when the test ends.
func newTable(t testing.TB, limit, takers int) *Table {
	table := NewTable(limit, takers)
	t.Cleanup(func() { check(t, table) })
	return table
}

// check fails the test if the parts of the table contradict each other.
func check(t failer, table *Table) {
	t.Helper()
	table.mu.Lock()
	defer table.mu.Unlock()
	if err := errors.Join(indexError(table), slabError(table), queueError(table), delaysError(table), boundError(table)); err != nil {
		t.Fatal("inconsistent table:", err)
	}
}

// indexError walks the cells: each leads to one entry, which is found by its key.
func indexError(t *Table) error {
	seen := make(map[uint32]bool)
	for i, cell := range t.index.cells {
		if cell == 0 {
			continue
		}
		hash, slot := uint32(cell>>32), uint32(cell)-1
		if seen[slot] {
			return fmt.Errorf("slot %d has two cells", slot)
		}
		seen[slot] = true
		if !t.slab.has(slot) {
			return fmt.Errorf("cell %d leads to slot %d, which does not exist", i, slot)
		}
		k := t.keyOf(slot)
		if hash != t.hash(k) || hash != t.slab.at(slot).hash {
			return fmt.Errorf("the cell of %s has another hash", k)
		}
		if found, ok := t.findLocked(k, hash); !ok || found != slot {
			return fmt.Errorf("%s is in slot %d and found in %d, %v", k, slot, found, ok)
		}
	}
	if len(seen) != t.index.used {
		return fmt.Errorf("%d cells are used, %d are counted", len(seen), t.index.used)
	}
	if 4*t.index.used > 3*len(t.index.cells) {
		return fmt.Errorf("%d of %d cells are used", t.index.used, len(t.index.cells))
	}
	if entries := t.counts.Queued + t.counts.Running + t.counts.Delayed + t.counts.Cooling; entries != t.index.used {
		return fmt.Errorf("%d entries are in the index, %d in a state: %+v", t.index.used, entries, t.counts)
	}
	return nil
}

// slabError walks the free list: with the entries in use it is all of the slab.
func slabError(t *Table) error {
	free := make(map[uint32]bool)
	for next := t.slab.free; next != 0; {
		slot := next - 1
		if free[slot] {
			return fmt.Errorf("slot %d is twice in the free list", slot)
		}
		free[slot] = true
		e := t.slab.at(slot)
		next = e.link
		if *e != (entry{link: next}) {
			return fmt.Errorf("free slot %d holds %+v", slot, *e)
		}
	}
	if len(free)+t.index.used != int(t.slab.fresh) {
		return fmt.Errorf("%d free and %d used of %d slots", len(free), t.index.used, t.slab.fresh)
	}
	running := 0
	for slot := range t.slab.fresh {
		e := t.slab.at(slot)
		runs := e.state == Running || e.state == Requeue
		switch {
		case free[slot] != (e.state == Idle):
			return fmt.Errorf("slot %d is %s, in the free list: %v", slot, e.state, free[slot])
		case runs && (e.link == 0 || e.link > t.turn):
			return fmt.Errorf("slot %d is %s with turn %d of %d", slot, e.state, e.link, t.turn)
		case runs:
			running++
		}
	}
	if running != t.counts.Running {
		return fmt.Errorf("%d entries run, %d are counted", running, t.counts.Running)
	}
	return nil
}

// queueError walks the run queue, and looks for a worker that sleeps beside it.
func queueError(t *Table) error {
	n, last := 0, uint32(0)
	for next := t.head; next != 0 && n <= t.counts.Queued; n++ {
		if e := t.slab.at(next - 1); e.state != Queued {
			return fmt.Errorf("%s is %s in the run queue", t.keyOf(next-1), e.state)
		}
		last, next = next, t.slab.at(next-1).link
	}
	if n != t.counts.Queued || last != t.tail {
		return fmt.Errorf("the run queue has %d entries and ends at %d, want %d and %d", n, last, t.counts.Queued, t.tail)
	}
	if n > 0 && len(t.waiters.stack) > 0 && !t.waiters.waking {
		return fmt.Errorf("%d workers sleep, %d documents are queued, and nobody is being woken", len(t.waiters.stack), n)
	}
	return nil
}

// delaysError walks the heap.
func delaysError(t *Table) error {
	cooling := 0
	for i, d := range t.delays {
		e := t.slab.at(d.slot)
		if e.state == Cooling {
			cooling++
		} else if e.state != Delayed {
			return fmt.Errorf("%s is %s in the heap", t.keyOf(d.slot), e.state)
		}
		if parent := t.delays[max(0, (i-1)/2)]; d.due.Before(parent.due) {
			return fmt.Errorf("the heap is out of order at %d", i)
		}
	}
	if len(t.delays) != t.counts.Delayed+t.counts.Cooling || cooling != t.counts.Cooling {
		return fmt.Errorf("the heap has %d entries, %d of them cooling: %+v", len(t.delays), cooling, t.counts)
	}
	return nil
}

func boundError(t *Table) error {
	if t.counts.Queued+t.counts.Running > t.limit || t.counts.Delayed+t.counts.Cooling > t.limit {
		return fmt.Errorf("the limit is %d: %+v", t.limit, t.counts)
	}
	return nil
}

func (t *Table) keyOf(slot uint32) store.Key {
	e := t.slab.at(slot)
	return store.Key{Collection: t.collections.name(e.collection), ID: e.id}
}

// queued returns the ids in the run queue, the next one first.
func queued(t *Table) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := []string{}
	for next := t.head; next != 0; next = t.slab.at(next - 1).link {
		ids = append(ids, t.slab.at(next-1).id)
	}
	return ids
}
