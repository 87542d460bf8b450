package harness

import (
	"math"
	"slices"
)

// Result is what came out of a comparison.
type Result struct {
	Comparison Comparison
	Entries    []Entry // one for each contestant
	Rounds     int
}

// Entry is what one contestant did.
type Entry struct {
	Rounds  []Figures
	Skipped string // why it did not run
	Failed  string // why it does not count
}

// Median returns the median of a figure. It is NaN if there is none.
func (e Entry) Median(figure string) float64 {
	var all []float64
	for _, f := range e.Rounds {
		if v, ok := f[figure]; ok {
			all = append(all, v)
		}
	}
	return median(all)
}

// Ratio returns the median of the ratios that our figure had to that of a
// contestant in each round. It is NaN if one of them has none.
func (r Result) Ratio(figure string, contestant int) float64 {
	ours := r.Comparison.ours()
	if ours < 0 || ours == contestant {
		return math.NaN()
	}
	return medianRatio(figure, r.Entries[ours].Rounds, r.Entries[contestant].Rounds)
}

func medianRatio(figure string, ours, theirs []Figures) float64 {
	var all []float64
	for i := range min(len(ours), len(theirs)) {
		a, have := ours[i][figure]
		b, has := theirs[i][figure]
		if have && has && b > 0 {
			all = append(all, a/b)
		}
	}
	return median(all)
}

// Outcome is how a goal came out.
type Outcome struct {
	Goal  Goal
	Value float64 // NaN if it could not be told
	Kept  bool
}

// Outcomes returns how each goal came out.
func (r Result) Outcomes() []Outcome {
	var all []Outcome
	for _, g := range r.Comparison.Goals {
		v := r.value(g)
		all = append(all, Outcome{Goal: g, Value: v, Kept: g.AtMost && v <= g.Bound || !g.AtMost && v >= g.Bound})
	}
	return all
}

func (r Result) value(g Goal) float64 {
	ours := r.Comparison.ours()
	switch g.Against {
	case "":
		return r.Entries[ours].Median(g.Figure)
	case BestPeer:
		return medianRatio(g.Figure, r.Entries[ours].Rounds, r.best(g.Figure))
	}
	for i, who := range r.Comparison.Contestants {
		if who.Name == g.Against {
			return r.Ratio(g.Figure, i)
		}
	}
	return math.NaN()
}

// best returns for each round the highest figure that a peer had.
func (r Result) best(figure string) []Figures {
	best := make([]Figures, r.Rounds)
	for i, who := range r.Comparison.Contestants {
		if who.Kind != Peer {
			continue
		}
		for round, f := range r.Entries[i].Rounds {
			if best[round] == nil || f[figure] > best[round][figure] {
				best[round] = f
			}
		}
	}
	return best
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
