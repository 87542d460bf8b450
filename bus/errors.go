package bus

import "errors"

// Reasons for the end of a subscription, as [Subscription.Receive] returns them.
var (
	// ErrLagged means that the subscriber fell behind: more events were published
	// than its buffer has room for. The subscription has ended and its buffer is
	// dropped. Subscribe again first, and then read again what the events told of.
	ErrLagged = errors.New("bus: subscriber fell behind")
	// ErrClosed means that the bus is closed and the buffer is drained, or that
	// the subscription itself is closed.
	ErrClosed = errors.New("bus: closed")
)
