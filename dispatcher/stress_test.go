package dispatcher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// world is a store of one number a document, and the oracle of the stress test.
type world struct {
	documents []document
	runs      atomic.Int64
	overlaps  atomic.Int64
}

type document struct {
	written atomic.Int64 // by producers, before they signal
	busy    atomic.Bool
	applied int64 // by the run that has the document; the race detector watches it
}

// run folds a document.
func (w *world) run(i int) {
	d := &w.documents[i]
	if !d.busy.CompareAndSwap(false, true) {
		w.overlaps.Add(1)
	}
	d.applied = d.written.Load()
	d.busy.Store(false)
	w.runs.Add(1)
}

func TestStress(t *testing.T) {
	for _, row := range []struct {
		documents, producers, workers, batch int
		verdicts                             bool // runs end in other ways than done, too
	}{
		{1, 4, 4, 1, false},
		{10, 8, 8, 16, false},
		{5000, 4, 64, 16, false},
		{5000, 8, 3, 4, true},
		{10, 2, 8, 2, true},
	} {
		t.Run(fmt.Sprintf("%+v", row), func(t *testing.T) {
			const signals = 30_000 // of each producer
			table := newTable(t, 10_000, row.workers)
			w := &world{documents: make([]document, row.documents)}
			ctx, stop := context.WithCancel(t.Context())
			var produced atomic.Bool
			stopIfIdle := func() {
				if c := table.Counts(); produced.Load() && c.Queued+c.Running+c.Delayed == 0 {
					stop()
				}
			}
			var producers, workers sync.WaitGroup
			for range row.producers {
				producers.Go(func() {
					for range signals {
						i := rand.IntN(row.documents)
						w.documents[i].written.Add(1)
						table.Signal(key(strconv.Itoa(i)))
					}
				})
			}
			for range row.workers {
				workers.Go(func() {
					buf, results := make([]Ticket, row.batch), make([]Result, row.batch)
					for ctx.Err() == nil {
						n := takeOrGiveUp(ctx, table, buf)
						for i := range n {
							document, _ := strconv.Atoi(buf[i].Key.ID)
							w.run(document)
							results[i] = Result{}
							if row.verdicts {
								results[i] = randomResult()
							}
						}
						if got := table.Done(buf[:n], results, nil); got != n {
							t.Errorf("%d of %d tickets were accepted", got, n)
						}
						stopIfIdle()
					}
				})
			}
			workers.Go(func() { wakeDelayed(ctx, table) })
			producers.Wait()
			produced.Store(true)
			stopIfIdle()
			workers.Wait()

			for i := range w.documents {
				if d := &w.documents[i]; d.applied != d.written.Load() {
					t.Errorf("document %d: applied %d of %d", i, d.applied, d.written.Load())
				}
			}
			if n := w.overlaps.Load(); n > 0 {
				t.Errorf("%d runs of a document that was running", n)
			}
			if n := w.runs.Load(); !row.verdicts && n > int64(signals*row.producers) {
				t.Errorf("%d runs of %d signals", n, signals*row.producers)
			}
			if c := table.Counts(); c.Takes != w.runs.Load() || c.Overflowed != 0 {
				t.Errorf("%d runs: %+v", w.runs.Load(), c)
			}
		})
	}
}

// takeOrGiveUp is Take with a context that often ends early.
func takeOrGiveUp(ctx context.Context, table *Table, buf []Ticket) int {
	if rand.IntN(2) == 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(50))*time.Microsecond)
		defer cancel()
	}
	n, _ := table.Take(ctx, buf)
	return n
}

func randomResult() Result {
	switch rand.IntN(10) {
	case 0:
		return Result{Verdict: Delay, Until: time.Now().Add(time.Duration(rand.IntN(100)) * time.Microsecond)}
	case 1, 2:
		return Result{Verdict: Again}
	}
	return Result{}
}

// wakeDelayed does the feed's part for delayed documents.
func wakeDelayed(ctx context.Context, table *Table) {
	for ctx.Err() == nil {
		pause := time.Hour
		if next := table.Wake(time.Now()); !next.IsZero() {
			pause = time.Until(next)
		}
		select {
		case <-ctx.Done():
		case <-table.Woken():
		case <-time.After(pause):
		}
	}
}
