package bus

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Bus hands each published event to all subscribers of the moment. The zero
// value is ready to use. A Bus must not be copied after its first use. All
// methods may be called at the same time from any goroutine.
type Bus[T any] struct {
	// subscribers is what Publish goes through, without mu. The slice that it
	// points to is never changed, only replaced, with mu held; nil is none.
	subscribers atomic.Pointer[[]*Subscription[T]]

	// mu guards the following field and every replacement of subscribers. It may
	// be held while taking the mu of a subscription, never the other way round,
	// and never while waiting.
	mu sync.Mutex
	// closed is true for good once Close was called; subscribers is nil then.
	closed bool
}

// New returns an empty bus. It is the same as new(Bus[T]).
func New[T any]() *Bus[T] { return new(Bus[T]) }

// Publish puts the events, in their order, into the buffer of each subscriber,
// and ends the subscription of whoever has no room for all of them. It never
// waits for a subscriber. On a closed bus it does nothing.
//
// Publish keeps nothing of the slice, and a call with single events does not
// allocate once the buffers have grown.
func (b *Bus[T]) Publish(events ...T) {
	if len(events) == 0 {
		return
	}
	subscribers := b.subscribers.Load()
	if subscribers == nil {
		return
	}
	for _, s := range *subscribers {
		if !s.offer(events) {
			b.remove(s)
		}
	}
}

// Subscribe returns a subscription to all events that are published from now
// on, with a buffer of size events. Size must be at least 1; Subscribe panics
// otherwise. On a closed bus the subscription has ended already, and Receive
// says [ErrClosed].
//
// The memory of the buffer is taken as it is needed. A subscription that is no
// longer received from ends by itself once its buffer is full; Close ends it
// earlier.
func (b *Bus[T]) Subscribe(size int) *Subscription[T] {
	if size < 1 {
		panic("bus: Subscribe with a buffer of less than one event")
	}
	s := &Subscription[T]{bus: b, size: size, wake: make(chan struct{}, 1)}

	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		s.ended = ErrClosed
		return s
	}
	var old []*Subscription[T]
	if p := b.subscribers.Load(); p != nil {
		old = *p
	}
	subscribers := append(slices.Clip(old), s)
	b.subscribers.Store(&subscribers)
	return s
}

// Close ends all subscriptions: each can still receive what is in its buffer,
// and then gets [ErrClosed]. Calling it again does nothing. When any call of
// Close has returned, no event enters a buffer any more.
func (b *Bus[T]) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	subscribers := b.subscribers.Swap(nil)
	if subscribers == nil {
		return
	}
	for _, s := range *subscribers {
		s.end(ErrClosed, true)
	}
}

// remove takes s from the subscribers, if it is one.
func (b *Bus[T]) remove(s *Subscription[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.subscribers.Load()
	if old == nil {
		return
	}
	i := slices.Index(*old, s)
	if i < 0 {
		return
	}
	if len(*old) == 1 {
		b.subscribers.Store(nil)
		return
	}
	subscribers := slices.Concat((*old)[:i], (*old)[i+1:])
	b.subscribers.Store(&subscribers)
}
