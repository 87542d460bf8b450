package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is what became of a layer.
type result struct {
	layer    string
	figures  []figure // in the order in which they were seen first
	failures int
	took     time.Duration
	skipped  map[string]string // tests, and why
	soFar    int64             // what a job that tells it again and again has told
}

type figure struct {
	name string
	n    int64
}

func (r *result) add(name string, n int64) {
	i := slices.IndexFunc(r.figures, func(f figure) bool { return f.name == name })
	if i < 0 {
		i = len(r.figures)
		r.figures = append(r.figures, figure{name: name})
	}
	r.figures[i].n += n
}

// rule says what is counted in a line that a test prints.
type rule struct {
	test string // the test, without what follows a slash; "" for any
	line *regexp.Regexp

	// names are those of the figures that the groups are, "" for none. {kind} is the
	// group of that name, or else the subtest.
	names []string

	counts string // the figure that such a line adds 1 to
	last   bool   // each line of a job counts what the one before it did, and more
}

// read counts what the rules know of a line.
func (r *result) read(rules []rule, test, line string) {
	top, sub, _ := strings.Cut(test, "/")
	line = strings.TrimRight(line, "\n")
	for _, rule := range rules {
		if rule.test != "" && rule.test != top {
			continue
		}
		m := rule.line.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		kind := sub
		if i := rule.line.SubexpIndex("kind"); i > 0 {
			kind = m[i]
		}
		for i, name := range rule.names {
			if name == "" {
				continue
			}
			n, err := strconv.ParseInt(m[i+1], 10, 64)
			if err != nil {
				continue
			}
			name = strings.ReplaceAll(name, "{kind}", kind)
			if rule.last {
				r.add(name, n-r.soFar)
				r.soFar = n
				continue
			}
			r.add(name, n)
		}
		if rule.counts != "" {
			r.add(rule.counts, 1)
		}
		return
	}
}

// printTable prints what each layer did.
func printTable(w io.Writer, results []*result) {
	fmt.Fprint(w, "\n| layer | what ran | failures | seconds |\n| --- | --- | ---: | ---: |\n")
	for _, r := range results {
		var what []string
		for _, f := range r.figures {
			what = append(what, fmt.Sprintf("%d %s", f.n, f.name))
		}
		if len(what) == 0 {
			what = []string{"nothing"}
		}
		fmt.Fprintf(w, "| %s | %s | %d | %.0f |\n", r.layer, strings.Join(what, ", "), r.failures, r.took.Seconds())
	}
	var skips []string
	for _, r := range results {
		for _, test := range slices.Sorted(maps.Keys(r.skipped)) {
			skips = append(skips, fmt.Sprintf("%s skipped %s: %s\n", r.layer, test, r.skipped[test]))
		}
	}
	if len(skips) > 0 {
		fmt.Fprint(w, "\n", strings.Join(skips, ""))
	}
}
