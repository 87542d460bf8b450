package inmemory

import (
	"fmt"
	"slices"

	"github.com/refold-go/refold/bench/internal/harness"
)

var usual = []maker{refoldTable, clientGo, priorityQueue, channel}

// Comparisons returns those of this package.
func Comparisons() []harness.Comparison {
	var all []harness.Comparison
	for _, producers := range []int{1, 8} {
		for _, workers := range []int{1, 2, 8, 64} {
			l := load{signals: 1_000_000, documents: 100_000, producers: producers, workers: workers}
			c := loadComparison(fmt.Sprintf("signals-%d-%d", producers, workers), l, usual)
			if producers == 8 && workers == 8 {
				c = loadComparison(c.Name, l, slices.Insert(slices.Clone(usual), 2, clientGoMetrics))
				c.Goals = []harness.Goal{
					{Figure: "signals/s", Against: "client-go", Bound: 2.5},
					{Figure: "CPU ns/signal", Against: "client-go", Bound: 0.4, AtMost: true},
					{Figure: "MB over base", Against: "client-go", Bound: 0.3, AtMost: true},
				}
			}
			all = append(all, c)
		}
	}
	const hot = 5_000_000 // a signal that is absorbed takes 30 ns: a million are too few to tell
	hot1 := loadComparison("signals-hot-1", load{signals: hot, documents: 1, producers: 8, workers: 8}, usual)
	hot1.Goals = []harness.Goal{{Figure: "signals/s", Against: "client-go", Bound: 1}}
	hot10 := loadComparison("signals-hot-10", load{signals: hot, documents: 10, producers: 8, workers: 8}, usual)
	hot10.Goals = []harness.Goal{{Figure: "signals/s", Against: "client-go", Bound: 1.5}}
	zipf := loadComparison("signals-zipf", load{signals: 1_000_000, documents: 1_000_000, producers: 8, workers: 8, zipf: true}, usual)
	all = append(all, hot1, hot10, zipf)

	drain := backlogComparison("backlog-200k", 200_000, usual)
	drain.Goals = []harness.Goal{{Figure: "drained/s", Against: "client-go", Bound: 4}}
	million := backlogComparison("backlog-1M", 1_000_000, slices.Insert(slices.Clone(usual), 2, clientGoMetrics))
	five := backlogComparison("backlog-5M", 5_000_000, usual)
	five.Goals = []harness.Goal{{Figure: "resident B/document", Bound: 65, AtMost: true}}
	return append(all, drain, million, five, cycleComparison())
}

func loadComparison(name string, l load, makers []maker) harness.Comparison {
	random := ""
	if l.zipf {
		random = " by Zipf's law (1.1)"
	}
	about := fmt.Sprintf("%s signals over %s%s, producers: %d, workers: %d, no work", thousands(l.signals), documents(l.documents), random, l.producers, l.workers)
	return comparison(name, about, loadFigures, makers, l.run)
}

func backlogComparison(name string, n int, makers []maker) harness.Comparison {
	b := backlog{documents: n, workers: 8}
	about := fmt.Sprintf("%s queued by one producer, each once, then drained by %d workers; the ids are not counted", documents(n), b.workers)
	return comparison(name, about, backlogFigures, makers, b.run)
}

func documents(n int) string {
	if n == 1 {
		return "one document"
	}
	return thousands(n) + " documents"
}

// thousands writes a number as 1,234.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func cycleComparison() harness.Comparison {
	c := comparison("cycle", "signal, take and give back on one goroutine, 1,000 documents in turn", cycleFigures, usual, cycle)
	c.Goals = []harness.Goal{
		{Figure: "ns/cycle", Bound: 70, AtMost: true},
		{Figure: "allocs/cycle", Bound: 0.001, AtMost: true},
	}
	return c
}

func comparison(name, about string, figures []string, makers []maker, run func(maker, harness.Env) (harness.Figures, error)) harness.Comparison {
	c := harness.Comparison{Name: name, About: about, Figures: figures}
	for _, m := range makers {
		c.Contestants = append(c.Contestants, harness.Contestant{
			Name: m.name, Kind: m.kind, Settings: m.settings,
			Run: func(env harness.Env) (harness.Figures, error) { return run(m, env) },
		})
	}
	return c
}
