package main

import (
	"os"
	"slices"
	"testing"

	"github.com/refold-go/refold/bench/internal/harness"
)

// Every contestant does a very small part of its work, and says that the result
// is right.
func TestContestants(t *testing.T) {
	for _, c := range comparisons() {
		for _, who := range c.Contestants {
			t.Run(c.Name+"/"+who.Name, func(t *testing.T) {
				env := harness.Env{Size: harness.Tiny, Dir: t.TempDir(), Postgres: os.Getenv("BENCH_POSTGRES")}
				if who.Skip != nil {
					if reason := who.Skip(env); reason != "" {
						t.Skip(reason)
					}
				}
				got, err := who.Run(env)
				if err != nil {
					t.Fatal(err)
				}
				for name := range got {
					if !slices.Contains(c.Figures, name) && !unreported[name] {
						t.Errorf("%q is no figure of the comparison", name)
					}
				}
				if got[c.Figures[0]] <= 0 {
					t.Errorf("%s is %v", c.Figures[0], got[c.Figures[0]])
				}
			})
		}
	}
}

// unreported figures are measured everywhere and shown where they tell something.
var unreported = map[string]bool{"MB over base": true, "in views/s": true}

func TestComparisonsAreWellFormed(t *testing.T) {
	var names []string
	for _, c := range comparisons() {
		if slices.Contains(names, c.Name) {
			t.Errorf("two comparisons are named %s", c.Name)
		}
		names = append(names, c.Name)
		var contestants []string
		ours := 0
		for _, who := range c.Contestants {
			if slices.Contains(contestants, who.Name) {
				t.Errorf("%s: two contestants are named %s", c.Name, who.Name)
			}
			contestants = append(contestants, who.Name)
			if who.Kind == harness.Ours {
				ours++
			}
		}
		if ours > 1 || ours == 0 && len(c.Goals) > 0 {
			t.Errorf("%s has %d contestants of ours and %d goals", c.Name, ours, len(c.Goals))
		}
		for _, g := range c.Goals {
			if !slices.Contains(c.Figures, g.Figure) {
				t.Errorf("%s: the goal %v is about no figure", c.Name, g)
			}
			if g.Against != "" && g.Against != harness.BestPeer && !slices.Contains(contestants, g.Against) {
				t.Errorf("%s: the goal %v is against nobody", c.Name, g)
			}
		}
	}
}
