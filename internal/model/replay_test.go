package model

import (
	"cmp"
	"math/rand/v2"
	"strings"
	"testing"
)

// replay plays the events of a counterexample and lets everybody finish. Each
// event is a step of its actor at that moment; which step it is, the order of
// the world decides: that of the code, or that of a mutant.
func (c *counterexample) replay(t *testing.T, w *world) error {
	t.Helper()
	for line := range strings.Lines(c.events) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "rest" {
			continue
		}
		actor, verb, d := fields[0], strings.Join(fields[1:], " "), 0
		switch actor {
		case "worker", "producer":
			actor, verb = actor+" "+fields[1], strings.Join(fields[2:], " ")
		}
		if rest, ok := strings.CutSuffix(verb, " 1"); ok {
			verb, d = rest, 1
		}
		w.step(actor, strings.TrimSuffix(verb, " 0"), d)
	}
	w.drain()
	return w.wrong()
}

func (c *counterexample) world(mutant string, toyTable bool) *world {
	return newWorld(mutant, toyTable, cmp.Or(c.limit, 2))
}

func TestCounterexamplesAreNoneForTheTable(t *testing.T) {
	for _, c := range counterexamples {
		t.Run(c.mutant, func(t *testing.T) {
			if err := c.replay(t, c.world("", false)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The control: with the fault, the same events end badly, so the test above
// would see it.
func TestCounterexamplesBreakTheirMutants(t *testing.T) {
	for _, c := range counterexamples {
		t.Run(c.mutant, func(t *testing.T) {
			if err := c.replay(t, c.world(c.mutant, true)); err == nil {
				t.Error("nothing went wrong")
			} else {
				t.Log(err)
			}
			if err := c.replay(t, c.world("", true)); err != nil {
				t.Errorf("without the fault: %v", err)
			}
		})
	}
}

// seeds is how many random schedules are played.
const seeds = 3000

// random plays a schedule with faults of all kinds, and lets everybody finish.
func random(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld("", false, 1+r.IntN(2))
	w.slice, w.buffer = 1+r.IntN(3), 1+r.IntN(2)
	faults := []string{"fails", "parks", "is refused", "is left in doubt"}
	for range 20 + r.IntN(180) {
		actor, verb := actors[r.IntN(len(actors))], ""
		switch n := r.IntN(100); {
		case n < 2:
			actor = [...]string{"kill", "cut"}[r.IntN(2)]
		case n < 5:
			actor = "time"
		case n < 30 && strings.HasPrefix(actor, "worker"):
			verb = faults[r.IntN(len(faults))]
		case strings.HasPrefix(actor, "producer"):
			verb = [...]string{"goes on", "asks for a reading"}[r.IntN(2)]
		}
		w.step(actor, verb, r.IntN(2))
	}
	w.drain()
	return w
}
