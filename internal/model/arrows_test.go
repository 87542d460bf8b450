package model

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// arrow is a change of a document's state, by an event.
type arrow struct{ from, event, to string }

func (a arrow) String() string { return a.from + " -> " + a.to + ": " + a.event }

type arrows map[arrow]bool

func (a arrows) sorted() []string {
	var lines []string
	for arrow := range a {
		lines = append(lines, arrow.String())
	}
	return slices.Sorted(slices.Values(lines))
}

// diagram reads the arrows that are drawn at dispatcher.State. A line may be a
// chain, and its first link may begin at several states.
func diagram(t *testing.T) arrows {
	t.Helper()
	source, err := os.ReadFile("../../dispatcher/state.go")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`──(.+?)──▶ *([a-z]+)`)
	drawn := make(arrows)
	for line := range strings.Lines(string(source)) {
		line, comment := strings.CutPrefix(line, "//\t")
		first, _, found := strings.Cut(line, "──")
		if !comment || !found || strings.Contains(line, "rest") || strings.Contains(line, "cooling") {
			continue // resting is not modelled: it is a delay that a document leaves clean
		}
		from := strings.Split(strings.TrimSpace(first), ", ")
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			for _, f := range from {
				drawn[arrow{f, m[1], m[2]}] = true
			}
			from = []string{m[2]}
		}
	}
	return drawn
}

// named reads the arrows that the comments of the model name; beside are those
// that it says are not drawn.
func named(t *testing.T) (drawn, beside arrows) {
	t.Helper()
	source, err := os.ReadFile("../../docs/model/inflight.pml")
	if err != nil {
		t.Fatal(err)
	}
	drawn, beside = make(arrows), make(arrows)
	tag := regexp.MustCompile(`/\* (beside: )?([a-z, ]+) -> ([a-z]+): ([a-z ]+) \*/`)
	for _, m := range tag.FindAllStringSubmatch(string(source), -1) {
		into := drawn
		if m[1] != "" {
			into = beside
		}
		for from := range strings.SplitSeq(m[2], ", ") {
			into[arrow{from, m[4], m[3]}] = true
		}
	}
	return drawn, beside
}

func TestModelNamesTheArrowsOfTheDiagram(t *testing.T) {
	inCode := diagram(t)
	inModel, _ := named(t)
	if len(inCode) < 10 {
		t.Errorf("read only %d arrows from the diagram:\n%s", len(inCode), strings.Join(inCode.sorted(), "\n"))
	}
	for a := range inCode {
		if !inModel[a] {
			t.Errorf("the model does not name %s", a)
		}
	}
	for a := range inModel {
		if !inCode[a] {
			t.Errorf("the diagram does not have %s", a)
		}
	}
}

// Every arrow that the real table takes, in any schedule, is named in the model,
// and every one that is named is taken.
func TestTableTakesTheArrowsOfTheModel(t *testing.T) {
	inModel, beside := named(t)
	maps.Copy(inModel, beside)
	taken := make(arrows)
	for seed := range uint64(seeds) {
		w := random(seed)
		if err := w.wrong(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		maps.Copy(taken, w.taken)
	}
	for a := range taken {
		if !inModel[a] {
			t.Errorf("the model does not name %s", a)
		}
	}
	for a := range inModel {
		if !taken[a] {
			t.Errorf("no schedule takes %s", a)
		}
	}
}
