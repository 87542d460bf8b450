// Package materializer keeps the documents of an event-sourced application up to
// date with the operations that change them.
//
// An application opens a store, makes a [Materializer] over it, registers its
// collections, each with the fold that makes views from operations, and lets
// [Materializer.Run] work in a goroutine of its own. From then on
// [Collection.Append] stores operations, and a pool of workers folds them into
// views that [Collection.Get] and its relatives read.
//
// What it promises:
//
//   - Durable: operations whose append returned nil are stored, and their
//     document is folded, as long as some process runs. Neither a crash, nor a
//     full queue, nor a panic of a fold loses any.
//   - Late operations count: an operation that arrives while its document is
//     being folded sends it round again.
//   - Exclusive: no two workers fold one document at once.
//   - Fresh when asked: a read with [AtLeast] waits until the view contains what
//     the token covers.
//   - Isolated: a document whose fold fails backs off, and is parked if it keeps
//     failing; its last good view is served and all others go on.
//
// Any number of processes may append to one store and read it, also ones that never
// call Run: they register the same collections. What they append is noticed by the
// process that makes the views within a fraction of a second.
//
// docs/architecture.md in the repository has the whole list, and what is not
// promised.
package materializer
