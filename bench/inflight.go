package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

// An in-flight queue takes signals for documents and runs each that was
// signalled, never two runs of one document at once.
type inFlight interface {
	// signal is called by many goroutines.
	signal(document int)
	// work calls run for documents until finish is called; many goroutines do it.
	work(run func(id string))
	// finish is called after the last signal. It may return early; work must not.
	finish()
}

const (
	producers = 8
	workers   = 8
)

func inFlightComparisons() []comparison {
	floors := []floor{
		{figure: "signals a second", ratio: 1.5},
		{figure: "CPU ns a signal", ratio: 0.7, most: true},
		{figure: "MB over base", ratio: 0.5, most: true},
	}
	hot := []floor{{figure: "signals a second", ratio: 0.7}}
	return []comparison{
		inFlightComparison("in-flight", 100_000, floors),
		inFlightComparison("in-flight-hot-1", 1, hot),
		inFlightComparison("in-flight-hot-10", 10, hot),
	}
}

func inFlightComparison(name string, documents int, floors []floor) comparison {
	run := func(newQueue func(ids []string) inFlight) func(bool) (figures, error) {
		return func(quick bool) (figures, error) {
			signals := 1_000_000
			if quick {
				signals /= 10
			}
			return runInFlight(newQueue, documents, signals)
		}
	}
	return comparison{
		name:  name,
		about: fmt.Sprintf("1 M signals over %d documents, %d producers, %d workers, no work", documents, producers, workers),
		contestants: []contestant{
			{"refold", run(newRefold)},
			{"client-go", run(newClientGo)},
		},
		floors: floors,
	}
}

// counters are the work: a run notes how many signals of its document it has
// seen, which in the end must be all of them.
type counters struct {
	signalled atomic.Uint32
	seen      uint32 // written by the run that has the document
}

func runInFlight(newQueue func(ids []string) inFlight, documents, signals int) (figures, error) {
	ids, all := newIDs(documents), make([]counters, documents)
	m, err := newMeter()
	if err != nil {
		return nil, err
	}
	q := newQueue(ids)
	var runs atomic.Int64
	var producing, working sync.WaitGroup
	for p := range producers {
		random := rand.New(rand.NewPCG(1, uint64(p)))
		producing.Go(func() {
			for range signals / producers {
				document := random.IntN(documents)
				all[document].signalled.Add(1)
				q.signal(document)
			}
		})
	}
	for range workers {
		working.Go(func() {
			mine := int64(0)
			q.work(func(id string) {
				mine++
				c := &all[number(id)]
				c.seen = c.signalled.Load()
			})
			runs.Add(mine)
		})
	}
	producing.Wait()
	q.finish()
	working.Wait()

	elapsed, cpu, memory, err := m.stop()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if lost := all[i].signalled.Load() - all[i].seen; lost > 0 {
			return nil, fmt.Errorf("%d signals of %s were lost", lost, ids[i])
		}
	}
	n := float64(signals / producers * producers)
	return figures{
		"signals a second": n / elapsed.Seconds(),
		"CPU ns a signal":  float64(cpu.Nanoseconds()) / n,
		"MB over base":     float64(memory) / 1e6,
		"runs":             float64(runs.Load()),
	}, nil
}

// newIDs makes ids of 24 bytes.
func newIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("document-%015d", i)
	}
	return ids
}

// number reads the document's number from the last seven digits of its id.
func number(id string) (n int) {
	for _, digit := range []byte(id[len(id)-7:]) {
		n = 10*n + int(digit-'0')
	}
	return n
}
