package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// report is the object that -json writes.
type report struct {
	Repository          string  `json:"repository"`
	Commits             int64   `json:"commits"`    // read
	Operations          int64   `json:"operations"` // added by this run
	Documents           int     `json:"documents"`  // in the database: files,
	Authors             int     `json:"authors"`    // and what is derived of them
	Folders             int     `json:"folders"`
	Runs                int64   `json:"runs"`
	Requeues            int64   `json:"requeues"`
	Signals             int64   `json:"signals"`
	OperationsPerRun    float64 `json:"operations_per_run"` // folded, a run
	StaleRuns           int64   `json:"stale_runs"`
	Seconds             float64 `json:"seconds"`               // until all views but parked ones were complete
	OperationsPerSecond float64 `json:"operations_per_second"` // added and folded
	Verified            bool    `json:"verified"`
	Mismatches          int     `json:"mismatches"`
	Parked              int     `json:"parked"` // in the file
}

// line is an object that -dump writes.
type line struct {
	Path    string `json:"path"`
	Changes int64  `json:"changes"`
	Added   int64  `json:"added"`
	Deleted int64  `json:"deleted"`
	Authors int    `json:"authors"`
	First   int64  `json:"first"`
	Last    int64  `json:"last"`
	Largest int64  `json:"largest"`
	Applied int64  `json:"applied"`
}

func newLine(path string, f File, applied int64) line {
	return line{path, f.Changes, f.Added, f.Deleted, len(f.Authors), f.First, f.Last, f.Largest, applied}
}

// newEncoder writes an object a line, with < > & as they are.
func newEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}

// mostChanged keeps the files with the most changes.
type mostChanged []line

const tableRows = 10

// offer takes l if it is among the first, and keeps the order: more changes
// first, then by path.
func (m *mostChanged) offer(l line) {
	i, _ := slices.BinarySearchFunc(*m, l, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.Changes, a.Changes), cmp.Compare(a.Path, b.Path))
	})
	if i < tableRows {
		*m = slices.Insert(*m, i, l)
		*m = (*m)[:min(len(*m), tableRows)]
	}
}

func (m mostChanged) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "changes\tadded\tdeleted\tauthors\tlargest\tfirst\tlast\t  file")
	for _, l := range m {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%s\t%s\t  %s\n",
			l.Changes, l.Added, l.Deleted, l.Authors, l.Largest, day(l.First), day(l.Last), printable(l.Path))
	}
	return t.Flush()
}

func day(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.DateOnly) }

// printable quotes a path that would upset a terminal.
func printable(path string) string {
	if strings.IndexFunc(path, func(r rune) bool { return !strconv.IsPrint(r) }) >= 0 {
		return strconv.Quote(path)
	}
	return path
}

// summary is what a person reads of a report.
func (r *report) summary(w io.Writer, duplicates int64) {
	commits := count(r.Commits, "commit")
	if r.Operations == 0 {
		fmt.Fprintf(w, "nothing to add: %s of %s %s stored before\n", verb(duplicates, "the one change", fmt.Sprintf("all %d changes", duplicates)), commits, verb(duplicates, "was", "were"))
	} else {
		fmt.Fprintf(w, "%s, %s added to %s", commits, count(r.Operations, "operation"), count(int64(r.Documents), "file"))
		if duplicates > 0 {
			fmt.Fprintf(w, " (%d stored before)", duplicates)
		}
		fmt.Fprintf(w, ", by %s, in %s of the top level", count(int64(r.Authors), "author"), count(int64(r.Folders), "folder"))
		fmt.Fprintf(w, "\n%s, %.0f operations a second\n", duration(r.Seconds), r.OperationsPerSecond)
	}
	if r.Runs > 0 {
		fmt.Fprintf(w, "%s of %.2f operations, %s, %d stale\n",
			count(r.Runs, "run"), r.OperationsPerRun, count(r.Requeues, "requeue"), r.StaleRuns)
	}
	if r.Verified {
		fmt.Fprintf(w, "folded again: %d of %s %s\n", r.Mismatches, r.views(), verb(int64(r.Mismatches), "differs", "differ"))
	}
}

// views tells how many of each collection there are.
func (r *report) views() string {
	return fmt.Sprintf("%s, %s and %s", count(int64(r.Documents), "file"), count(int64(r.Authors), "author"), count(int64(r.Folders), "folder"))
}

// count is a number of things, whose name takes an s if they are several.
func count(n int64, thing string) string {
	return fmt.Sprintf("%d %s", n, verb(n, thing, thing+"s"))
}

// verb chooses the form for n.
func verb(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// duration tells seconds, shorter than one with the milliseconds.
func duration(seconds float64) string {
	if seconds < 1 {
		return fmt.Sprintf("%.3f seconds", seconds)
	}
	return fmt.Sprintf("%.1f seconds", seconds)
}

// ratio is a/b with three decimals; 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	f, _ := strconv.ParseFloat(strconv.FormatFloat(a/b, 'f', 3, 64), 64)
	return f
}
