package inmemory

import "github.com/refold-go/refold/bench/internal/harness"

var cycleFigures = []string{"ns/cycle", "allocs/cycle"}

// cycle signals, takes and gives back on one goroutine, over 1,000 documents.
func cycle(m maker, env harness.Env) (harness.Figures, error) {
	const documents = 1000
	q := m.new(need{ids: newIDs(documents), workers: 1})
	for i := range documents { // the queue's own tables grow now
		q.cycle(i)
	}
	n := env.Size.Of(2_000_000, documents)
	meter, err := harness.StartMeter()
	if err != nil {
		return nil, err
	}
	document := 0
	for range n {
		q.cycle(document)
		if document++; document == documents {
			document = 0
		}
	}
	used, err := meter.Stop()
	if err != nil {
		return nil, err
	}
	q.stop()
	return harness.Figures{
		"ns/cycle":     float64(used.Elapsed.Nanoseconds()) / float64(n),
		"allocs/cycle": float64(used.Allocs) / float64(n),
	}, nil
}
