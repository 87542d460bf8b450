// Package limits measures what the machine and SQLite give when nothing else is
// done.
package limits

import "github.com/refold-go/refold/bench/internal/harness"

// Comparisons returns those of this package.
func Comparisons() []harness.Comparison {
	limit := func(name string, run func(harness.Env) (harness.Figures, error)) harness.Contestant {
		return harness.Contestant{Name: name, Kind: harness.Limit, Run: run}
	}
	inserts := func(rows, perStatement, perTransaction, perDocument int, synchronous string) func(harness.Env) (harness.Figures, error) {
		return Inserts{Rows: rows, PerStatement: perStatement, PerTransaction: perTransaction, PerDocument: perDocument, Writers: 1, Synchronous: synchronous}.Run
	}
	return []harness.Comparison{
		{
			Name: "limit-sync", About: "pages of 4 KiB written to a file, each with fsync", Figures: syncFigures,
			Contestants: []harness.Contestant{limit("append", appendAndSync), limit("overwrite", overwriteAndSync)},
		},
		{
			Name: "limit-cgo", About: "a call of an empty function in C", Figures: []string{"ns/call"},
			Contestants: []harness.Contestant{limit("cgo call", cgoCall)},
		},
		{
			Name:    "limit-sqlite",
			About:   "rows of operations over 10,000 documents, and of views, written with database/sql on one connection: WAL, 64 MB of cache, a checkpoint every 10,000 pages",
			Figures: []string{"rows/s", "CPU µs/row"},
			Contestants: []harness.Contestant{
				limit("insert, 1 a transaction, FULL", inserts(5000, 1, 1, 1, "FULL")),
				limit("insert, 1 a transaction, NORMAL", inserts(20_000, 1, 1, 1, "NORMAL")),
				limit("insert, 1,000 a transaction, FULL", inserts(100_000, 1, 1000, 1, "FULL")),
				limit("the same, 16 a statement", inserts(100_800, 16, 1008, 1, "FULL")),
				limit("the same, 10 of a document together", inserts(100_800, 16, 1008, 10, "FULL")),
				limit("upsert, 1 a transaction, FULL", upserts(5000, 1, "FULL")),
				limit("upsert, 1,000 a transaction, FULL", upserts(100_000, 1000, "FULL")),
			},
		},
	}
}
