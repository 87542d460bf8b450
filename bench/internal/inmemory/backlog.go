package inmemory

import (
	"fmt"
	"time"

	"github.com/refold-go/refold/bench/internal/harness"
)

// backlog is a number of documents that are all queued before the workers come.
type backlog struct{ documents, workers int }

var backlogFigures = []string{"drained/s", "queued/s", "resident B/document", "heap B/document", "allocs/document"}

func (b backlog) run(m maker, env harness.Env) (harness.Figures, error) {
	documents := env.Size.Of(b.documents, 500)
	ids, all := newIDs(documents), make([]document, documents)
	heap := harness.Heap()
	n := float64(documents)

	meter, err := harness.StartMeter()
	if err != nil {
		return nil, err
	}
	queue := m.new(need{ids: ids, workers: b.workers, backlog: true})
	for i := range all {
		all[i].signalled.Add(1)
		queue.signal(i)
	}
	filled, err := meter.Stop()
	if err != nil {
		return nil, err
	}
	heap = harness.Heap() - heap

	began := time.Now()
	workers := startWorkers(m, queue, b.workers, all)
	if err := waitForAll(all); err != nil {
		return nil, err
	}
	drained := time.Since(began)
	if runs := workers.end(); runs != int64(documents) {
		return nil, fmt.Errorf("%d documents were run %d times", documents, runs)
	}
	return harness.Figures{
		"drained/s":           n / drained.Seconds(),
		"queued/s":            n / filled.Elapsed.Seconds(),
		"resident B/document": float64(filled.Memory) / n,
		"heap B/document":     float64(heap) / n,
		"allocs/document":     float64(filled.Allocs) / n,
	}, nil
}
