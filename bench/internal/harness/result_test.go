package harness

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// sample has three rounds, one contestant that was left out and one that failed.
func sample() Result {
	rates := func(v ...float64) (e Entry) {
		for _, r := range v {
			e.Rounds = append(e.Rounds, Figures{"runs/s": r})
		}
		return e
	}
	return Result{
		Comparison: Comparison{
			Name: "sample", About: "a < b", Figures: []string{"runs/s"},
			Contestants: []Contestant{
				{Name: "refold", Kind: Ours, Settings: "all defaults"},
				{Name: "slow"}, {Name: "other"}, {Name: "absent"}, {Name: "broken"},
				{Name: "floor", Kind: Limit},
			},
			Goals: []Goal{
				{Figure: "runs/s", Against: "slow", Bound: 3},
				{Figure: "runs/s", Against: BestPeer, Bound: 3},
				{Figure: "runs/s", Bound: 50, AtMost: true},
				{Figure: "runs/s", Against: "absent", Bound: 1},
			},
		},
		Rounds: 3,
		Entries: []Entry{
			rates(100, 40, 90), rates(20, 10, 30), rates(10, 20, 45),
			{Skipped: "no server"}, {Failed: "an update was lost"}, rates(1000, 1000, 1000),
		},
	}
}

func TestRatioIsTheMedianOfTheRounds(t *testing.T) {
	r := sample()
	if got := r.Ratio("runs/s", 1); got != 4 { // of 5, 4 and 3
		t.Errorf("ratio to slow is %v, want 4", got)
	}
	if got := r.Entries[0].Median("runs/s"); got != 90 {
		t.Errorf("median is %v, want 90", got)
	}
	for _, i := range []int{0, 3, 4} {
		if got := r.Ratio("runs/s", i); !math.IsNaN(got) {
			t.Errorf("ratio to contestant %d is %v, want none", i, got)
		}
	}
}

func TestOutcomes(t *testing.T) {
	want := []struct {
		value float64
		kept  bool
	}{{4, true}, {2, false}, {90, false}, {math.NaN(), false}} // the best peer is 20, 20 and 45
	for i, o := range sample().Outcomes() {
		if o.Value != want[i].value && !(math.IsNaN(o.Value) && math.IsNaN(want[i].value)) || o.Kept != want[i].kept {
			t.Errorf("goal %d: %v, %v, want %v", i, o.Value, o.Kept, want[i])
		}
	}
}

func TestTableSaysWhatDoesNotCount(t *testing.T) {
	var b bytes.Buffer
	Table(&b, sample(), false)
	for _, want := range []string{
		"sample: a < b (medians of 3)",
		"absent: left out: no server",
		"broken: FAILED: an update was lost",
		"goal: runs/s ≥ 3 × slow: 4.00, kept",
		"goal: runs/s ≥ 3 × the best peer: 2.00, missed",
		"goal: runs/s ≥ 1 × absent: not measured",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestJSONAndSVGAreWellFormed(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, Machine{}, false, []Result{sample()}); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b.Bytes()) {
		t.Error("no JSON")
	}
	b.Reset()
	if err := SVG(&b, []Result{sample()}); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(&b); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.0004: "0", 0.5: "0.500", 1.234: "1.23", 12.34: "12.3", 9999: "9999", 12_345: "12.3 k", 999_499: "999 k", 1_234_567: "1.23 M",
	} {
		if got := short(v); got != want {
			t.Errorf("short(%v) is %q, want %q", v, got, want)
		}
	}
}
