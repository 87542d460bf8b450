// Package dispatcher keeps track of which documents are in hand.
//
// What it promises:
//
//   - Exclusive: a document is given to one worker at a time.
//   - Lossless: a signal for a busy document is one more run of it.
//   - Stingy: any number of signals for a waiting document are one run.
//   - Fair: documents are taken in the order in which they were queued, and one
//     that goes round again goes to the tail.
//   - Bounded: what does not fit waits in the store, and is read again from there.
//
// [Table] is the per-document state machine. [Dispatcher] feeds it from the
// bus, and from the store's runnable documents when it starts, when it fell
// behind, and when there is room again: all three are one path.
//
// The package is not covered by the compatibility promise.
package dispatcher
