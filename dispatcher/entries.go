package dispatcher

import "github.com/refold-go/refold/store"

// entry is 32 bytes: an entry and its cell in the index are 43 to 53 bytes a
// document.
type entry struct {
	id         string
	hash       uint32 // of the key, so that removing does not read the id again
	link       uint32 // queued or free: slot+1 of the next one; in hand: its turn
	absorbed   uint32 // signals since it was taken
	collection uint16
	state      State
}

// inHand reports whether a worker has the entry, under the ticket of this turn.
func (e *entry) inHand(turn uint32) bool {
	return (e.state == Running || e.state == Requeue) && e.link == turn
}

func (t *Table) pushLocked(slot uint32) {
	e := t.slab.at(slot)
	e.state, e.link = Queued, 0
	if t.tail == 0 {
		t.head = slot + 1
	} else {
		t.slab.at(t.tail - 1).link = slot + 1
	}
	t.tail = slot + 1
	t.counts.Queued++
	if t.sample.next--; t.sample.next == 0 {
		t.sample.begin(slot)
	}
}

func (t *Table) popLocked() (slot uint32) {
	slot = t.head - 1
	if t.head = t.slab.at(slot).link; t.head == 0 {
		t.tail = 0
	}
	t.counts.Queued--
	return slot
}

func (t *Table) insertLocked(k store.Key, hash uint32) (slot uint32) {
	slot = t.slab.alloc()
	*t.slab.at(slot) = entry{id: k.ID, hash: hash, collection: t.collections.number(k.Collection)}
	t.index.insert(hash, slot)
	return slot
}

func (t *Table) removeLocked(slot uint32, e *entry) {
	t.index.remove(e.hash, slot)
	t.slab.release(slot)
	t.dropIdleSlabLocked()
}

func (t *Table) findLocked(k store.Key, hash uint32) (slot uint32, found bool) {
	for from := hash; ; {
		slot, from, found = t.index.next(hash, from)
		if !found {
			return 0, false
		}
		if e := t.slab.at(slot); e.id == k.ID && t.collections.name(e.collection) == k.Collection {
			return slot, true
		}
	}
}
