package dispatcher

import (
	"testing"

	"pgregory.net/rapid"
)

// TestModel does random things to a table and its model, and compares them after
// each: at least 10,000 steps in all.
func TestModel(t *testing.T) {
	steps := 0
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(rapid.IntRange(1, 8).Draw(t, "limit"), rapid.IntRange(1, 3).Draw(t, "takers"))
		number := func(name string) int { return rapid.IntRange(0, 15).Draw(t, name) }
		signal := func(t *rapid.T) { p.signal(t, number("key")) }
		take := func(t *rapid.T) { p.take(t, number("size")) }
		done := func(t *rapid.T) {
			p.done(t, number("back"), rapid.IntRange(1, 4).Draw(t, "tickets"), number("verdict"), number("wait"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"signal": signal, "signal 2": signal, "signal 3": signal, // as often as all else
			"take": take, "take 2": take,
			"done": done, "done 2": done,
			"signal all": func(t *rapid.T) { p.signalAll(number("key"), number("keys")) },
			"delay":      func(t *rapid.T) { p.delay(number("key"), number("wait")) },
			"wake":       func(t *rapid.T) { p.wake(t, number("seconds")) },
			"reread":     func(t *rapid.T) { p.reread() },
			"begin read": func(t *rapid.T) { p.beginRead(t) },
			"end read":   func(t *rapid.T) { p.endRead() },
			"": func(t *rapid.T) {
				steps++
				p.compare(t)
			},
		})
	})
	if t.Logf("%d steps", steps); steps < 10_000 && !isSet("rapid.steps") && !isSet("rapid.checks") && !testing.Short() {
		t.Errorf("only %d steps", steps)
	}
}
