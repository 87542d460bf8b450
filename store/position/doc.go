// Package position says how far a log with many writers is complete. It has
// positions, which are places of single facts, tokens, which are cuts through
// the whole log that a reader can carry, and a [Tracker] of what is reserved,
// finished and waited for. It stores nothing and needs no other package.
//
// Where several writers draw numbers from one counter, facts become visible in
// another order than that of their numbers: a reader that remembers only the
// greatest number it saw skips the slower ones. What this package promises:
//
//   - Complete: nothing at or before a position that the tracker calls complete
//     becomes visible later. A number is covered from before it is drawn.
//   - Exact: each writer has its own position, so one slow writer does not hide
//     the facts of the others; a token carries those that are ahead.
//   - Rising: positions and the tracker's tokens never go back.
//   - Live: an idle writer holds nobody back. One that died is fenced by its
//     epoch, its holes are named, and its late reports are refused.
//   - Bounded: memory follows what is open, not what was finished behind it.
//   - Awake: who waits is woken by the change, not by a timer.
//   - Canonical: equal tokens have the same text, == compares them, and no text
//     makes reading panic.
//
// What it asks of its user:
//
//   - Numbers are drawn from one counter per stream, and a number drawn later is
//     greater than each drawn before, by whichever writer; gaps are allowed.
//   - A writer is admitted in every tracker before it draws its first number, and
//     a tracker that starts gets the stored [Standing] of every writer before
//     anybody reads from it.
//   - A fact is committed and readable before its position is finished or
//     reported. A transaction that commits a fact checks the writer's epoch, and
//     the epoch is raised there before [Tracker.Fence] is called.
//   - A position is reserved last, in the commit step: whatever takes long
//     between reserving and finishing delays the writer's later positions.
//
// What it does not promise: it does not deliver reports between processes, it
// does not choose who writes, and it does not know the end of the log; a token
// from the future is cut back with [Token.Bound] by who knows the counter.
package position
