package harness

import (
	"encoding/json"
	"io"
	"math"
)

// JSON writes results for programs to read: medians, ratios and every round.
func JSON(out io.Writer, m Machine, quick bool, results []Result) error {
	type contestant struct {
		Name     string             `json:"name"`
		Settings string             `json:"settings,omitempty"`
		Skipped  string             `json:"skipped,omitempty"`
		Failed   string             `json:"failed,omitempty"`
		Medians  map[string]float64 `json:"medians,omitempty"`
		Ratios   map[string]float64 `json:"refoldRatios,omitempty"`
		Rounds   []Figures          `json:"rounds,omitempty"`
	}
	type goal struct {
		Figure  string   `json:"figure"`
		Against string   `json:"against,omitempty"`
		Bound   float64  `json:"bound"`
		AtMost  bool     `json:"atMost"`
		Value   *float64 `json:"value"`
		Kept    bool     `json:"kept"`
	}
	type comparison struct {
		Name        string       `json:"name"`
		About       string       `json:"about"`
		Figures     []string     `json:"figures"`
		Contestants []contestant `json:"contestants"`
		Goals       []goal       `json:"goals,omitempty"`
	}
	all := struct {
		Machine     Machine      `json:"machine"`
		Quick       bool         `json:"quick"`
		Comparisons []comparison `json:"comparisons"`
	}{Machine: m, Quick: quick}
	for _, r := range results {
		c := comparison{Name: r.Comparison.Name, About: r.Comparison.About, Figures: r.Comparison.Figures}
		for i, who := range r.Comparison.Contestants {
			e := r.Entries[i]
			one := contestant{Name: who.Name, Settings: who.Settings, Skipped: e.Skipped, Failed: e.Failed, Rounds: e.Rounds,
				Medians: map[string]float64{}, Ratios: map[string]float64{}}
			for _, figure := range r.Comparison.Figures {
				put(one.Medians, figure, e.Median(figure))
				put(one.Ratios, figure, r.Ratio(figure, i))
			}
			c.Contestants = append(c.Contestants, one)
		}
		for _, o := range r.Outcomes() {
			g := goal{Figure: o.Goal.Figure, Against: o.Goal.Against, Bound: o.Goal.Bound, AtMost: o.Goal.AtMost, Kept: o.Kept}
			if !math.IsNaN(o.Value) {
				g.Value = &o.Value
			}
			c.Goals = append(c.Goals, g)
		}
		all.Comparisons = append(all.Comparisons, c)
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "\t")
	return e.Encode(all)
}

func put(to map[string]float64, figure string, v float64) {
	if !math.IsNaN(v) {
		to[figure] = v
	}
}
