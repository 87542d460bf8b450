package materializer

import "sync/atomic"

// Stats are counters since New, and gauges of now.
type Stats struct {
	// Queued, Running and Delayed are documents now. Those that wait in the store
	// because the queue is full are not among them.
	Queued, Running, Delayed int
	// Signals says how often a document was said to have changed, Absorbed how
	// many of those cost nothing because the document was waiting or running.
	Signals, Absorbed int64
	// Requeues is how many runs sent their document round again because of signals
	// that came meanwhile. The next round may find that the run had folded what
	// they announced, and is then none of Runs.
	Requeues int64
	// Runs is how many runs of documents were stored, Operations how many
	// operations they folded.
	Runs, Operations int64
	// Stale is how many runs were thrown away because the document had moved on.
	Stale int64
	// Failed is how many runs ended in an error of their fold, Parked how many of
	// those parked their document.
	Failed, Parked int64
}

type counters struct {
	runs, operations, stale, failed, parked atomic.Int64
}

// Stats returns the counters and gauges. It is cheap, and the numbers need not
// be of one moment.
func (m *Materializer) Stats() Stats {
	t := m.table.Counts()
	return Stats{
		Queued:     t.Queued,
		Running:    t.Running,
		Delayed:    t.Delayed,
		Signals:    t.Signals,
		Absorbed:   t.Absorbed,
		Requeues:   t.Requeues,
		Runs:       m.counts.runs.Load(),
		Operations: m.counts.operations.Load(),
		Stale:      m.counts.stale.Load(),
		Failed:     m.counts.failed.Load(),
		Parked:     m.counts.parked.Load(),
	}
}
