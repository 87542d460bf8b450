package inmemory

import (
	"math/rand/v2"
	"sync"

	"github.com/refold-go/refold/bench/internal/harness"
)

// load is a number of signals for documents.
type load struct {
	signals, documents, producers, workers int
	zipf                                   bool // a few documents get most
}

var loadFigures = []string{"signals/s", "CPU ns/signal", "runs", "allocs/signal", "MB over base"}

func (l load) run(m maker, env harness.Env) (harness.Figures, error) {
	each := env.Size.Of(l.signals, 2000) / l.producers
	n := float64(each * l.producers)
	q := make([][]int32, l.producers)
	for p := range q {
		q[p] = l.draw(p, each)
	}
	ids, all := newIDs(l.documents), make([]document, l.documents)

	meter, err := harness.StartMeter()
	if err != nil {
		return nil, err
	}
	queue := m.new(need{ids: ids, workers: l.workers})
	workers := startWorkers(m, queue, l.workers, all)
	var producing sync.WaitGroup
	for _, mine := range q {
		producing.Go(func() {
			for _, document := range mine {
				all[document].signalled.Add(1)
				queue.signal(int(document))
			}
		})
	}
	producing.Wait()
	if err := waitForAll(all); err != nil {
		return nil, err
	}
	used, err := meter.Stop()
	if err != nil {
		return nil, err
	}
	return harness.Figures{
		"signals/s":     n / used.Elapsed.Seconds(),
		"CPU ns/signal": float64(used.CPU.Nanoseconds()) / n,
		"runs":          float64(workers.end()),
		"allocs/signal": float64(used.Allocs) / n,
		"MB over base":  float64(used.Memory) / 1e6,
	}, nil
}

// draw draws the documents of a producer before the clock runs.
func (l load) draw(producer, n int) []int32 {
	random := rand.New(rand.NewPCG(1, uint64(producer)))
	next := func() int { return random.IntN(l.documents) }
	if l.zipf {
		z := rand.NewZipf(random, 1.1, 1, uint64(l.documents-1))
		next = func() int { return int(z.Uint64()) }
	}
	drawn := make([]int32, n)
	for i := range drawn {
		drawn[i] = int32(next())
	}
	return drawn
}
