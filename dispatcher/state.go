package dispatcher

import "time"

// State is where a document is.
//
//	idle ──signal──▶ queued ──take──▶ running ──done──▶ idle
//	                                  running ──signal──▶ requeue ──done──▶ queued (at the tail)
//	                                  running ──again──▶ queued
//	                                  running, requeue ──again──▶ queued
//	                                  running, requeue ──delay──▶ delayed ──time is up──▶ queued
//	                                  running ──park──▶ idle
//	                                  requeue ──park──▶ queued (it may have been resumed meanwhile)
//
// queued, requeue and delayed absorb signals. Idle documents, parked ones among
// them, have no entry.
type State uint8

const (
	Idle State = iota
	Queued
	Running
	Requeue
	Delayed
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{"idle", "queued", "running", "requeue", "delayed"}[s]
}

// Result says how a run went, and so what becomes of its document.
type Result struct {
	Verdict Verdict
	// Until is when a delayed document is due; zero is at once. It is read with
	// Delay only.
	Until time.Time
}

// Verdict is the kind of a [Result].
type Verdict uint8

const (
	// Done means that the run ended well and that the store says clean.
	Done Verdict = iota
	// Again means that the document is still dirty, or that the run was stale.
	Again
	// Delay means that the document must wait: its run failed, or it is leased
	// elsewhere. A signal does not cut the wait short.
	Delay
	// Park means that the store holds the document back until it is resumed. If
	// signals came meanwhile it is looked at again, since one of them may be that.
	Park
)
