package bus

import (
	"context"
	"sync"

	"github.com/refold-go/refold/internal/yield"
)

// Subscription is one subscriber's place on a [Bus]. Receive is for one
// goroutine at a time, Close may be called from anywhere.
type Subscription[T any] struct {
	bus  *Bus[T]
	size int // of the buffer, in events; at least 1
	// wake holds one token from the moment a waiting Receive was called back until
	// that Receive has taken it. Only whoever turns waiting off puts it in, so that
	// sending never blocks.
	wake chan struct{}

	// mu guards the following fields. It is never held while waiting.
	mu sync.Mutex
	// buffer holds at most size events. It is empty after the end, unless the bus
	// was closed.
	buffer ring[T]
	// waiting is true while Receive waits and nobody has called it back. The
	// buffer is empty and ended is nil then.
	waiting bool
	// ended is the reason of the end, nil before. The first reason stays. Nothing
	// enters the buffer after it was set.
	ended error
}

// Receive waits until there is an event, moves as many as there are and as buf
// has room for into buf, oldest first, and returns how many. Buf must have room
// for at least one; Receive panics otherwise.
//
// The error is [ErrLagged] or [ErrClosed] once the subscription has ended, and
// [context.Cause] of ctx if ctx has ended, which is looked at first; the events
// stay in the buffer for the next call then. With an error the number is 0.
// Receive panics if it finds another call waiting.
func (s *Subscription[T]) Receive(ctx context.Context, buf []T) (int, error) {
	if len(buf) == 0 {
		panic("bus: Receive into an empty buffer")
	}
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if n, err := s.takeOrWait(buf); n > 0 || err != nil {
			return n, err
		}
		select {
		case <-s.wake:
			yield.At(ctx, "woken by the bus")
		case <-ctx.Done():
			yield.At(ctx, "stopped at the bus")
			s.stopWaiting()
		}
	}
}

// Close ends the subscription and drops its buffer: Receive, also one that
// waits, returns [ErrClosed], or [ErrLagged] if that was the end already.
// Calling it again does nothing.
func (s *Subscription[T]) Close() {
	s.bus.remove(s)
	s.end(ErrClosed, false)
}

// offer puts the events into the buffer and reports whether the subscription
// goes on.
func (s *Subscription[T]) offer(events []T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return false
	}
	if len(events) > s.size-s.buffer.count {
		s.endLocked(ErrLagged, false)
		return false
	}
	s.buffer.push(events, s.size)
	s.wakeLocked()
	return true
}

// takeOrWait moves events into buf, or returns why there will be none, or
// announces that the caller is going to wait.
func (s *Subscription[T]) takeOrWait(buf []T) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting {
		panic("bus: Receive while another Receive waits")
	}
	if n := s.buffer.pop(buf); n > 0 {
		return n, nil
	}
	if s.ended != nil {
		s.buffer = ring[T]{}
		return 0, s.ended
	}
	s.waiting = true
	return 0, nil
}

// stopWaiting takes the announcement of takeOrWait back. If somebody has called
// the waiting Receive back meanwhile, the token is in wake and is taken out.
func (s *Subscription[T]) stopWaiting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting {
		s.waiting = false
		return
	}
	<-s.wake
}

func (s *Subscription[T]) end(reason error, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(reason, keep)
}

// endLocked ends the subscription, if it has not ended, and drops the buffer
// unless it is to be kept.
func (s *Subscription[T]) endLocked(reason error, keep bool) {
	if !keep {
		s.buffer = ring[T]{}
	}
	if s.ended == nil {
		s.ended = reason
		s.wakeLocked()
	}
}

func (s *Subscription[T]) wakeLocked() {
	if s.waiting {
		s.waiting = false
		s.wake <- struct{}{}
	}
}
