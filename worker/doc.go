// Package worker runs work that a [Source] hands out, on a fixed number of
// goroutines, and gives it back with how it went.
//
// What it promises:
//
//   - Once: whatever was taken is given back exactly once, also after a panic,
//     after runtime.Goexit, and if it was taken while the pool was stopping.
//   - Sturdy: neither panics nor Goexit cost a worker; a [Pool] never shrinks.
//   - One lifetime: [Pool.Run] blocks, and when it returns its goroutines are gone.
//   - Punctual: Run returns at the end of its grace period, whatever its runs do.
//     Those still going on are named in a [*StuckError], and what they return
//     afterwards goes nowhere.
//
// It does not promise to stop a run: a goroutine in Go can't be stopped from
// outside. A run that never ends keeps its goroutine for as long as the process
// lives.
//
// Beside the pool are the small parts that a run is made of: [Guard] against
// panics, [Backoff] between attempts, and [Limit] on the time of one.
package worker
