// Bench compares Refold with others that could do the same work. It is a module
// of its own, so that none of them reaches an application that uses Refold.
//
//	go -C bench run . [-quick] [-rounds N] [-only NAME]
//
// Each contestant does each comparison in a process of its own, once a round,
// one after the other. The figures are medians; a ratio is the median of the
// ratios of each round. A contestant that lost work makes the whole run fail.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// comparison is one piece of work that several contestants do.
type comparison struct {
	name        string
	about       string
	contestants []contestant // ratios are those of the first to the second
	floors      []floor
}

// contestant does the work of a comparison, small if quick, and measures it.
type contestant struct {
	name string
	run  func(quick bool) (figures, error)
}

// figures are what was measured, by name.
type figures map[string]float64

// floor is a bound on a ratio that is a budget of the project.
type floor struct {
	figure string
	ratio  float64
	most   bool // the ratio must be at most so much, not at least
}

var comparisons = inFlightComparisons()

func main() {
	quick := flag.Bool("quick", false, "do a tenth of the work, once: shows that it works, the figures mean little")
	rounds := flag.Int("rounds", 5, "how often each contestant does each comparison")
	only := flag.String("only", "", "only comparisons with `NAME` in their name")
	child := flag.String("child", "", "used by bench to start itself")
	flag.Parse()
	if *quick {
		*rounds = 1
	}
	if err := run(*child, *only, *rounds, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(child, only string, rounds int, quick bool) error {
	if child != "" {
		return runChild(child, quick)
	}
	for _, c := range comparisons {
		if !strings.Contains(c.name, only) {
			continue
		}
		measured := make([][]figures, len(c.contestants))
		for round := range rounds {
			for i := range c.contestants {
				i = (i + round) % len(c.contestants) // nobody always comes first
				got, err := start(c, c.contestants[i], quick)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", c.name, c.contestants[i].name, err)
				}
				measured[i] = append(measured[i], got)
			}
		}
		report(os.Stdout, c, measured, quick)
	}
	return nil
}

// start runs one contestant in a process of its own.
func start(c comparison, who contestant, quick bool) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-child", c.name+"/"+who.name, fmt.Sprintf("-quick=%v", quick))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var got figures
	return got, json.Unmarshal(out, &got)
}

func runChild(name string, quick bool) error {
	for _, c := range comparisons {
		for _, who := range c.contestants {
			if c.name+"/"+who.name == name {
				got, err := who.run(quick)
				if err != nil {
					return err
				}
				return json.NewEncoder(os.Stdout).Encode(got)
			}
		}
	}
	return fmt.Errorf("no contestant %q", name)
}
