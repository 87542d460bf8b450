package dispatcher

import "time"

// State is where a document is.
//
//	idle ──signal──▶ queued ──take──▶ running ──done──▶ idle
//	                                  running ──signal──▶ requeue ──done──▶ queued (at the tail)
//	                                  running ──again──▶ queued
//	                                  running, requeue ──again──▶ queued
//	                                  running, requeue ──delay──▶ delayed ──time is up──▶ queued
//
// Where a collection has a least interval between runs, a run that went well says
// until when its document must rest:
//
//	running ──done, rest──▶ cooling ──time is up──▶ idle
//	                        cooling ──signal──▶ delayed ──time is up──▶ queued
//	requeue ──done, rest──▶ delayed
//	running, requeue ──again, rest──▶ delayed
//
// queued, requeue and delayed absorb signals. Idle documents have no entry; a
// parked one is idle, and a resume that came during the run which parked it has
// set the requeue flag.
type State uint8

const (
	Idle State = iota
	Queued
	Running
	Requeue
	Delayed
	// Cooling is a clean document that ran just now: it must not run before its
	// time is up, and leaves the table then.
	Cooling
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{"idle", "queued", "running", "requeue", "delayed", "cooling"}[s]
}

// Result says how a run went, and so what becomes of its document.
type Result struct {
	Verdict Verdict
	// Until is when the document may run again. Zero is at once.
	Until time.Time
}

// Verdict is the kind of a [Result].
type Verdict uint8

const (
	// Done means that the store says that there is nothing to do: the document is
	// clean, or held back until somebody lets it go and signals it.
	Done Verdict = iota
	// Again means that the document is still dirty, or that the run was stale.
	Again
	// Delay means that the document must wait: its run failed, or it is leased
	// elsewhere. A signal does not cut the wait short.
	Delay
)
