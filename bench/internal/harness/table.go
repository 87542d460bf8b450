package harness

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// Table prints a result: a line for each contestant, a column for each figure,
// and in brackets our figure divided by the contestant's.
func Table(out io.Writer, r Result, quick bool) {
	c := r.Comparison
	how := fmt.Sprintf("medians of %d", r.Rounds)
	if quick {
		how = "quick: a tenth of the work, once"
	}
	fmt.Fprintf(out, "\n%s: %s (%s)\n", c.Name, c.About, how)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, figure := range c.Figures {
		fmt.Fprintf(w, "\t%s\t", figure)
	}
	fmt.Fprintln(w, "\t")
	var notes []string
	for i, who := range c.Contestants {
		e := r.Entries[i]
		switch {
		case e.Skipped != "":
			notes = append(notes, fmt.Sprintf("%s: left out: %s", who.Name, e.Skipped))
			continue
		case e.Failed != "":
			notes = append(notes, fmt.Sprintf("%s: FAILED: %s", who.Name, e.Failed))
			continue
		}
		fmt.Fprintf(w, "%s", who.Name)
		for _, figure := range c.Figures {
			fmt.Fprintf(w, "\t%s\t%s", short(e.Median(figure)), bracketed(r.Ratio(figure, i)))
		}
		fmt.Fprintln(w, "\t")
	}
	w.Flush()
	for _, n := range notes {
		fmt.Fprintf(out, "  %s\n", n)
	}
	if quick { // a run of milliseconds says nothing about a goal
		return
	}
	for _, o := range r.Outcomes() {
		fmt.Fprintf(out, "  goal: %s\n", o)
	}
}

// String says in one line how a goal came out.
func (o Outcome) String() string {
	sign, times, against := "≥", "", ""
	if o.Goal.AtMost {
		sign = "≤"
	}
	if o.Goal.Against != "" {
		times, against = " ×", " "+o.Goal.Against
	}
	verdict := "missed"
	switch {
	case math.IsNaN(o.Value):
		return fmt.Sprintf("%s %s %g%s%s: not measured", o.Goal.Figure, sign, o.Goal.Bound, times, against)
	case o.Kept:
		verdict = "kept"
	}
	return fmt.Sprintf("%s %s %g%s%s: %s, %s", o.Goal.Figure, sign, o.Goal.Bound, times, against, short(o.Value), verdict)
}

func bracketed(ratio float64) string {
	if math.IsNaN(ratio) {
		return ""
	}
	return "(" + short(ratio) + ")"
}

// short prints three digits or so.
func short(v float64) string {
	digits := func(v float64, unit string) string {
		decimals := 0
		switch a := math.Abs(v); {
		case a < 1:
			decimals = 3
		case a < 10:
			decimals = 2
		case a < 100:
			decimals = 1
		}
		return strconv.FormatFloat(v, 'f', decimals, 64) + unit
	}
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return ""
	case a >= 1e6:
		return digits(v/1e6, " M")
	case a >= 10_000:
		return digits(v/1e3, " k")
	case a < 0.0005:
		return "0"
	default:
		return digits(v, "")
	}
}
