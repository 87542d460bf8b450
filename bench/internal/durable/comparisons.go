package durable

import (
	"fmt"
	"slices"
	"time"

	"github.com/refold-go/refold/bench/internal/harness"
	"github.com/refold-go/refold/bench/internal/limits"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

var (
	appendFigures = []string{"operations/s", "CPU µs/operation"}
	foldFigures   = []string{"operations/s", "CPU µs/operation", "runs/operation", "MB over base"}
	jobFigures    = []string{"operations/s", "in views/s", "CPU µs/operation", "runs/operation", "MB over base"}
)

const (
	eachTransaction = "one transaction each"
	rawInserts      = "raw inserts"

	memorySettings = "the memory store, all defaults"
	refoldSettings = "all defaults: appends FULL; views are written with NORMAL, a power cut makes documents dirty again and they are folded again; GOMAXPROCS workers"
)

// Comparisons returns those of this package.
func Comparisons() []harness.Comparison {
	return []harness.Comparison{
		appendComparison(1, 4000, 1.1),
		appendComparison(8, 15_000, 4),
		appendComparison(64, 40_000, 8),
		appendComparison(1024, 60_000, 12),
		batchComparison(),
		processComparison(),
		jobComparison(),
		jobTenComparison(),
		memoryComparison(),
		tallyComparison(),
	}
}

func ours(run func(harness.Env) (harness.Figures, error)) harness.Contestant {
	return harness.Contestant{Name: "refold", Kind: harness.Ours, Settings: refoldSettings, Run: run}
}

// patient is ours set for bulk work.
func patient(run func(*refold, harness.Env) (harness.Figures, error)) harness.Contestant {
	return harness.Contestant{Name: "refold, 1 s", Kind: harness.Variant, Settings: "as refold, with Config.ViewDelay of 1 s",
		Run: with(configured(sqlite.SyncFull, materializer.Config{ViewDelay: time.Second}), run)}
}

// rows gives the figures of raw inserts the names that they have here.
func rows(run func(harness.Env) (harness.Figures, error)) func(harness.Env) (harness.Figures, error) {
	return func(env harness.Env) (harness.Figures, error) {
		f, err := run(env)
		return harness.Figures{"operations/s": f["rows/s"], "CPU µs/operation": f["CPU µs/row"]}, err
	}
}

// appendComparison stores operations and folds none. The peers add jobs of the
// size of an operation; with 8 and with 1,024 appenders they are left out, since
// more than one only wait for each other.
func appendComparison(appenders, n int, goal float64) harness.Comparison {
	each := limits.Inserts{Rows: 2500, PerStatement: 1, PerTransaction: 1, PerDocument: 1, Writers: appenders, Synchronous: "FULL"}
	c := harness.Comparison{
		Name:    fmt.Sprintf("append-%d", appenders),
		About:   fmt.Sprintf("operations or jobs of 100 bytes, one a transaction, appenders: %d, durable when acknowledged", appenders),
		Figures: appendFigures,
		Contestants: []harness.Contestant{
			ours(with(onSQLite(sqlite.SyncFull), enqueue(n, appenders, 1))),
			{Name: eachTransaction, Kind: harness.Limit, Run: rows(each.Run), Settings: "only the operation's row, FULL, the appenders share one connection"},
		},
		Goals: []harness.Goal{{Figure: "operations/s", Against: eachTransaction, Bound: goal}},
	}
	if appenders == 8 || appenders == 1024 {
		return c
	}
	c.Contestants = append(c.Contestants, harness.Contestant{
		Name: "refold, NORMAL", Kind: harness.Variant, Settings: "as refold, with SyncNormal",
		Run: with(onSQLite(sqlite.SyncNormal), enqueue(n, appenders, 1)),
	})
	for _, p := range slices.Concat(peersAtFull, peersAtNormal) {
		c.Contestants = append(c.Contestants, p.contestant(p.enqueue(appenders, 1)))
	}
	return c
}

func batchComparison() harness.Comparison {
	const batch = 1000
	raw := limits.Inserts{Rows: 50_000, PerStatement: 1, PerTransaction: batch, PerDocument: 1, Writers: 1, Synchronous: "FULL"}
	c := harness.Comparison{
		Name:    "append-batch",
		About:   "operations or jobs of 100 bytes, 1,000 a transaction, one appender",
		Figures: appendFigures,
		Contestants: []harness.Contestant{
			ours(with(onSQLite(sqlite.SyncFull), enqueue(50_000, 1, batch))),
			{Name: rawInserts, Kind: harness.Limit, Run: rows(raw.Run), Settings: "only the operations' rows, FULL"},
		},
	}
	for _, p := range peersAtFull {
		c.Contestants = append(c.Contestants, p.contestant(p.enqueue(1, batch)))
	}
	return c
}

func processComparison() harness.Comparison {
	c := harness.Comparison{
		Name:        "process",
		About:       "jobs that are there already and do nothing (Refold folds one operation into each of as many documents and writes the views)",
		Figures:     appendFigures,
		Contestants: []harness.Contestant{ours(with(onSQLite(sqlite.SyncFull), process(50_000)))},
	}
	for _, p := range slices.Concat(peersAtFull, peersAtNormal, peersAtDefault) {
		c.Contestants = append(c.Contestants, p.contestant(p.process))
	}
	return c
}

func jobComparison() harness.Comparison {
	c := harness.Comparison{
		Name:    "job",
		About:   "100,000 operations over 10,000 documents, one an append, 64 appenders, until each is in its view and no job is left (in views/s: until each is in its view); slow peers do a share with as many operations a document",
		Figures: jobFigures,
		Contestants: []harness.Contestant{
			ours(with(onSQLite(sqlite.SyncFull), realJob(1))),
			patient(realJob(1)),
		},
		Goals: []harness.Goal{
			{Figure: "operations/s", Against: harness.BestPeer, Bound: 10},
			{Figure: "operations/s", Against: harness.BestPeer, Bound: 20},
		},
	}
	for _, p := range slices.Concat(peersAtFull, peersAtNormal, peersAtDefault) {
		c.Contestants = append(c.Contestants, p.contestant(p.realJob))
	}
	return c
}

func jobTenComparison() harness.Comparison {
	raw := limits.Inserts{Rows: 100_800, PerStatement: 16, PerTransaction: 1008, PerDocument: 10, Writers: 1, Synchronous: "FULL"}
	return harness.Comparison{
		Name:    "job-10",
		About:   "the same with ten operations an append, each append to one document",
		Figures: foldFigures,
		Contestants: []harness.Contestant{
			ours(with(onSQLite(sqlite.SyncFull), realJob(10))),
			patient(realJob(10)),
			{Name: rawInserts, Kind: harness.Limit, Run: rows(raw.Run), Settings: "only the operations' rows in the same order, 16 a statement, 1,008 a transaction, FULL, one goroutine"},
		},
		Goals: []harness.Goal{{Figure: "operations/s", Against: rawInserts, Bound: 0.5}},
	}
}

func memoryComparison() harness.Comparison {
	refold := ours(with(inMemory, realJob(1)))
	refold.Settings = memorySettings
	return harness.Comparison{
		Name:    "job-memory",
		About:   "the same in memory: JSON in, JSON views out, nothing durable",
		Figures: foldFigures,
		Contestants: []harness.Contestant{
			refold,
			{Name: "Watermill", Run: watermillJob((*mill).subscribe),
				Settings: "gochannel with a buffer of 1,000; documents over 16 topics, a goroutine each, so that no document is handled twice at once; publishing does not wait"},
			{Name: "Watermill router", Run: watermillJob((*mill).route), Settings: "the same with a router of 16 handlers"},
		},
		Goals: []harness.Goal{{Figure: "operations/s", Against: harness.BestPeer, Bound: 10}},
	}
}

func tallyComparison() harness.Comparison {
	refold := ours(refoldTally)
	refold.Settings = memorySettings
	return harness.Comparison{
		Name:    "noop-memory",
		About:   "100,000 empty operations over 10,000 documents in memory, 64 appenders, and counting as the only work",
		Figures: foldFigures,
		Contestants: []harness.Contestant{
			refold,
			{Name: "Watermill", Run: watermillTally((*mill).subscribe)},
			{Name: "Watermill router", Run: watermillTally((*mill).route)},
		},
		Goals: []harness.Goal{{Figure: "operations/s", Against: harness.BestPeer, Bound: 10}},
	}
}
