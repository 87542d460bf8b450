// Package store is the vocabulary of Refold and the contract that a storage
// backend keeps.
//
// What a backend promises:
//
//   - Durable: an Append that returned nil is there after a crash and, unless
//     its options say otherwise, after a power cut.
//   - Whole: an Append is stored entirely or not at all.
//   - Dense: a document's operations are numbered 1, 2, 3, … in order of commit.
//   - Dirty is a fact: a document whose operations are not all in its view can
//     be found in the store, without anybody's memory.
//   - Guarded: a view is written only over the state that it was computed from.
//   - Honest: an error tells whether anything was stored (see [ErrInDoubt]).
//
// [Store] is the core. [Registrar], [Resolver], [Log], [Feed], [Claimer], [Parking],
// [Announcer], [Pauser], [Censor] and [Eraser] are the roles that every backend has besides; [Backend]
// is all of them. [Follower], [Transactor], [Checker], [DerivedChecker] and [Writers] are roles for
// backends that can. Package storetest checks all of it, a section per role.
package store
