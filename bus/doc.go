// Package bus broadcasts events to the subscribers of one process.
//
// What it promises:
//
//   - Never blocking: a publisher does not wait for a subscriber, however slow.
//   - Bounded: a subscriber holds at most as many events as it asked for.
//   - Honest: a subscriber gets every event published since it subscribed, or
//     [ErrLagged]. It never gets a stream with a hole in it.
//   - Separate: a subscriber that falls behind is no matter of any other.
//   - Ordered: events of one publisher arrive in the order of their publishing.
//   - Quiet: no goroutines, and a publisher wakes a subscriber only if that one
//     waits.
//
// What it does not promise: two subscribers may see the events of two
// publishers that publish at once in different orders, and an event that nobody
// is subscribed to is gone. Events are hints; what must not be lost is written
// down somewhere else, and is read there again after [ErrLagged].
package bus
