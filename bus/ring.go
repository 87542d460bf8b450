package bus

// ring is a queue that grows to what is needed and then keeps its memory, so
// that a subscription with room for many events costs what it uses of it.
type ring[T any] struct {
	// slots[head], and the count-1 slots after it, round the end, are the events
	// from the oldest on. All other slots are zero, so that an event that was
	// taken out is not kept alive.
	slots       []T
	head, count int
}

// smallestRing is the first size of a ring, in events.
const smallestRing = 16

// push adds the events. The caller has made sure that all of them fit into limit.
func (r *ring[T]) push(events []T, limit int) {
	if need := r.count + len(events); need > len(r.slots) {
		r.grow(min(limit, max(smallestRing, need, 2*len(r.slots))))
	}
	tail := r.head + r.count
	if tail >= len(r.slots) {
		tail -= len(r.slots)
	}
	n := copy(r.slots[tail:], events)
	copy(r.slots, events[n:])
	r.count += len(events)
}

// pop moves the oldest events into buf and returns how many.
func (r *ring[T]) pop(buf []T) int {
	total := 0
	for total < len(buf) && r.count > 0 {
		run := r.slots[r.head:min(r.head+r.count, len(r.slots))]
		n := copy(buf[total:], run)
		clear(run[:n])
		r.count -= n
		r.head += n
		if r.head == len(r.slots) || r.count == 0 {
			r.head = 0
		}
		total += n
	}
	return total
}

// grow makes room for size events.
func (r *ring[T]) grow(size int) {
	slots := make([]T, size)
	n := r.pop(slots)
	r.slots, r.head, r.count = slots, 0, n
}
