package materializer

import (
	"sync/atomic"
	"time"
)

// Stats are counters since New, and gauges of now.
type Stats struct {
	// Queued, Running, Delayed and Cooling are documents now; those that are
	// cooling are clean and ran less than their MinInterval ago. Those that wait in
	// the store because the queue is full are not among them.
	Queued, Running, Delayed, Cooling int
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
	// Lost is how many runs were given up or thrown away because another process had
	// the document then, LeftBehind how many documents were taken over from a process
	// that had left them behind; both are 0 if the store is not shared.
	Lost, LeftBehind int64
	// Failed is how many runs ended in an error of their fold, Parked how many of
	// those parked their document.
	Failed, Parked int64
	// Overlooked is how many dirty documents the watchdog found that nobody was
	// working on, see [Materializer.Health].
	Overlooked int64
}

// Histograms are distributions of what was measured since New.
type Histograms struct {
	// Run is how long the runs of documents took that were stored, from the start of
	// the fold until the view was stored. Documents that are stored together end at
	// the same time.
	Run Histogram
	// Wait is how long documents were queued until a worker took them. One document
	// in 64 is measured.
	Wait Histogram
	// Operations is how many operations the runs folded, a number each.
	Operations Histogram
	// Fresh is how old the oldest operation that a view lacked was when it was
	// stored: from the append to the view.
	Fresh Histogram
}

type counters struct {
	runs, operations, stale, failed, parked, overlooked, lost, leftBehind atomic.Int64

	run, wait, perRun, fresh histogram
}

// observe counts a run that was stored.
func (c *counters) observe(it *item, now time.Time) {
	c.runs.Add(1)
	c.operations.Add(int64(it.result.n))
	c.run.observe(int64(now.Sub(it.began)))
	c.perRun.observe(int64(it.result.n))
	if it.result.n > 0 {
		c.fresh.observe(int64(now.Sub(it.doc.Since.Time)))
	}
}

// Stats returns the counters and gauges. It is cheap, and the numbers need not
// be of one moment.
func (m *Materializer) Stats() Stats {
	t := m.table.Counts()
	return Stats{
		Queued:     t.Queued,
		Running:    t.Running,
		Delayed:    t.Delayed,
		Cooling:    t.Cooling,
		Signals:    t.Signals,
		Absorbed:   t.Absorbed,
		Requeues:   t.Requeues,
		Runs:       m.counts.runs.Load(),
		Operations: m.counts.operations.Load(),
		Stale:      m.counts.stale.Load(),
		Lost:       m.counts.lost.Load(),
		LeftBehind: m.counts.leftBehind.Load(),
		Failed:     m.counts.failed.Load(),
		Parked:     m.counts.parked.Load(),
		Overlooked: m.counts.overlooked.Load(),
	}
}

// Histograms returns the distributions: 6 KiB. They need not be of one moment.
func (m *Materializer) Histograms() Histograms {
	return Histograms{
		Run:        m.counts.run.snapshot(),
		Wait:       m.counts.wait.snapshot(),
		Operations: m.counts.perRun.snapshot(),
		Fresh:      m.counts.fresh.snapshot(),
	}
}
