package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
)

// report prints a line a figure: the median of each contestant, the ratio of the
// first to the second, and whether it keeps the floor.
func report(out io.Writer, c comparison, measured [][]figures, quick bool) {
	rounds := fmt.Sprintf("median of %d", len(measured[0]))
	if quick {
		rounds = "quick: a tenth of it, once"
	}
	fmt.Fprintf(out, "\n%s: %s (%s)\n", c.name, c.about, rounds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\t")
	for _, who := range c.contestants {
		fmt.Fprintf(w, "%s\t", who.name)
	}
	fmt.Fprintln(w, "ratio\tfloor\t")
	for _, name := range figureNames(measured[0][0]) {
		fmt.Fprintf(w, "%s\t", name)
		for i := range measured {
			fmt.Fprintf(w, "%s\t", short(median(values(measured[i], name))))
		}
		ratio := median(ratios(measured[0], measured[1], name))
		verdict := ""
		if !quick { // a run of milliseconds says nothing about a floor
			verdict = c.verdict(name, ratio)
		}
		fmt.Fprintf(w, "%.2f\t%s\t\n", ratio, verdict)
	}
	w.Flush()
}

func (c comparison) verdict(name string, ratio float64) string {
	for _, f := range c.floors {
		switch {
		case f.figure != name:
		case f.most && ratio > f.ratio:
			return fmt.Sprintf("≤ %.1f MISSED", f.ratio)
		case f.most:
			return fmt.Sprintf("≤ %.1f kept", f.ratio)
		case ratio < f.ratio:
			return fmt.Sprintf("≥ %.1f MISSED", f.ratio)
		default:
			return fmt.Sprintf("≥ %.1f kept", f.ratio)
		}
	}
	return ""
}

func figureNames(f figures) []string {
	var names []string
	for name := range f {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}

func values(of []figures, name string) []float64 {
	var all []float64
	for _, f := range of {
		all = append(all, f[name])
	}
	return all
}

func ratios(first, second []figures, name string) []float64 {
	var all []float64
	for i := range first {
		all = append(all, first[i][name]/second[i][name])
	}
	return all
}

func median(v []float64) float64 {
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// short prints three digits or so.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', 2, 64) + " M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'f', 0, 64) + " k"
	default:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
}
