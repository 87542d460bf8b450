package materializer

import (
	"time"

	"github.com/refold-go/refold/worker"
	"github.com/rs/zerolog"
)

// Config holds the settings of a materializer. The zero value works.
type Config struct {
	// Logger gets what happens: failures of folds at warn, parked documents at
	// error, requeues at debug. The zero logger is silent.
	Logger zerolog.Logger
	// Workers is how many folds may run at once. 0 means [runtime.GOMAXPROCS]. After
	// an unclean end, or if the store is shared, there is one more, for suspects, and
	// one more for each fold that does not return within a second, up to 16.
	Workers int
	// BuildShare is which part of Workers, in number, makes generations that are not
	// served, beside the others: at least one, and while documents that are served
	// wait, they rest as long as they work. It is what they have at rest: a generation that is
	// being built and comes no nearer to what is served is given more every five seconds, up to all
	// Workers, and in the end before what is served, which then rests up to 16 times as long as it
	// works, for five seconds at a time at the most, or not at all again if that is of no use for a
	// minute. So a build ends if all together can fold faster than operations come. See
	// [Generation.Share]. From 0 to 1; 0 means half.
	BuildShare float64
	// Queue is how many documents wait or run in memory at most, at about 53 bytes
	// each and their ids beside. What does not fit waits in the store. 0 means
	// 65,536.
	Queue int
	// Batch is how many documents a worker takes at once at most, to load and
	// commit them together. It takes its share of what is queued, so that with one
	// document queued it takes one. A backlog of quick folds is worked off a quarter faster with
	// 256 on SQLite, where rows of more documents share pages; slow folds are in each other's way
	// then. 0 means 64.
	Batch int
	// ViewDelay is how old the first operation that a view lacks may become, while the store has
	// something else to write, before the view is written too. More views are written together
	// then, and a document that gets several operations meanwhile is folded once: for bulk work. A view
	// that somebody waits for already when it is made does not wait; who comes later waits as long, and a stop
	// may take as much longer. If the store is shared it is a quarter of Lease at the most. From 0, which
	// means not at all, to 1 min.
	ViewDelay time.Duration
	// Bytes bounds the stored operations and views that all workers together hold in
	// memory; a view counts twice, for the new one, and what folds make of them comes
	// on top. A larger document is folded in slices; a single larger operation, or
	// view, is folded alone. Up to a quarter as much is kept beside, of documents that
	// ran within the last minute, so that their next runs need not read, unless the store is
	// shared or in memory. 0 means 64 MiB.
	Bytes int64
	// Grace is how long runs in hand may go on when Run is told to stop. 0 means
	// 10 s; negative means not at all.
	Grace time.Duration
	// Announcements is how far the bus of appended documents may run ahead of the
	// dispatcher, in documents. Beyond that the dispatcher reads the store again. 0
	// means 4,096.
	Announcements int
	// Shared lets several materializers, in this process and others, share the work on
	// a store, each with the same setting: a document is leased for its run, others pass
	// over it meanwhile and look again soon, and what the dead leave behind is taken up
	// by the others, one document at a time, with each attempt recorded before. A run
	// costs one more small transaction. Otherwise one materializer has the store for
	// itself, and a second one is refused.
	Shared bool
	// Lease is how long a process may work on a document without storing anything
	// until others take it over, if the store is shared; with slices that are stored it
	// may be six times as long. All should have the same. 0 means 10 s; otherwise it is
	// 1 s to 10 min.
	Lease time.Duration
	// Ready is called once by Run, when it has the store and before the first fold: a
	// server can say then that it serves. Run goes on when it has returned. nil means
	// that nobody wants to know.
	Ready func()
	// Tracer is told of each run. nil means none, and costs nothing.
	Tracer Tracer
}

const (
	defaultBatch         = 64
	longestViewDelay     = time.Minute
	defaultBytes         = 64 << 20
	defaultAnnouncements = 4096
	// sliceOperations bounds a run in operations, beside the bytes: 16,384 small
	// ones take some 20 ms, so that a long document lets others have their turn.
	sliceOperations = 16384
)

// Retry says what happens when a fold fails. The zero value works.
type Retry struct {
	// Attempts is how often a document is run until it is parked, counted for each
	// operation at which it fails. 0 means 10; 1 parks at the first failure.
	Attempts int
	// First and Cap are the longest delays after the first and after any failed
	// run, Factor is how much longer it gets each time. The delay is drawn between
	// 0 and that, and is a day at the most. 0 means 100 ms, 1 minute and 2.
	First, Cap time.Duration
	Factor     float64
}

const (
	defaultAttempts  = 10
	defaultTimeLimit = time.Minute
)

// asideWorkers is how many workers make generations that are not served.
func (c *Config) asideWorkers() int { return max(1, int(c.BuildShare*float64(c.Workers))) }

func (r Retry) attempts() int {
	if r.Attempts <= 0 {
		return defaultAttempts
	}
	return r.Attempts
}

func (r Retry) backoff() worker.Backoff {
	return worker.Backoff{First: r.First, Cap: r.Cap, Factor: r.Factor}
}
