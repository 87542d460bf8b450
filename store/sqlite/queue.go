package sqlite

import (
	"slices"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

// The most that one group takes.
const (
	groupRequests = 1024
	groupBytes    = 32 << 20
)

// queue holds the requests that wait for the writer, in order of arrival.
type queue struct {
	// wake has an element if there may be something for the writer to do.
	wake chan struct{}

	// mu guards the following fields. It is never held while blocked.
	mu       sync.Mutex
	requests []*request
	closed   bool
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// push adds a request. Errors: [store.ErrClosed].
func (q *queue) push(r *request) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return store.ErrClosed
	}
	q.requests = append(q.requests, r)
	q.mu.Unlock()
	q.rouse()
	return nil
}

// rouse wakes the writer.
func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close lets no further requests in. Those that wait are the writer's to answer.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.rouse()
}

// look drops the requests that were withdrawn, and tells what the first ones
// need: whether any waits, whether the group must be synced, and the first one if
// that is never grouped.
func (q *queue) look() (some, synced bool, single *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.requests[:0]
	for _, r := range q.requests {
		if r.state.Load() == waiting {
			kept = append(kept, r)
		}
	}
	clear(q.requests[len(kept):])
	q.requests = kept
	if len(kept) == 0 {
		return false, false, nil
	}
	if kept[0].single() {
		return true, true, kept[0]
	}
	for _, r := range kept {
		if r.single() {
			break
		}
		synced = synced || r.synced
	}
	return true, synced, nil
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.requests)
}

// take takes a group: the requests up to one that is never grouped, and up to the
// bounds.
// One that needs a sync stays behind if the group will not be synced, and views do
// while others want to write.
func (q *queue) take(group []*request, synced bool) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	size, i := 0, 0
	var behind []*request
	passed := q.passLocked()
	for ; i < len(q.requests); i++ {
		r := q.requests[i]
		if r.single() || len(group) == groupRequests || size > groupBytes {
			break
		}
		if r.synced && !synced || passed != nil && passed(r) {
			behind = append(behind, r)
			continue
		}
		if r.take() {
			group = append(group, r)
			size += r.size
		}
	}
	rest := q.requests[:copy(q.requests, append(behind, q.requests[i:]...))]
	clear(q.requests[len(rest):])
	q.requests = rest
	return group
}

// passLocked tells which ones are passed over because there is something to write that does
// not wait; nil is none.
func (q *queue) passLocked() func(r *request) bool {
	some, others := false, false
	for _, r := range q.requests {
		if r.single() {
			break
		}
		some, others = some || !r.by.IsZero(), others || r.by.IsZero()
	}
	if !some || !others {
		return nil
	}
	now := time.Now()
	return func(r *request) bool { return now.Before(r.by) }
}

// remove takes one request out.
func (q *queue) remove(r *request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.requests, r); i >= 0 {
		q.requests = slices.Delete(q.requests, i, i+1)
	}
}

// drain takes out everything that still waits.
func (q *queue) drain() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.requests
	q.requests = nil
	return all
}
