package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// choices are the decisions of one run, in the order in which they were made. A
// run that is given the same ones is the same run. 0 is always the plainest: the
// first goroutine goes on, nothing fails, nobody dies.
type choices struct {
	rng   *rand.Rand // nil in a run of given choices
	given []uint32
	made  []uint32
}

func drawn(seed uint64) *choices {
	return &choices{rng: rand.New(rand.NewPCG(seed, 0x5eed))} //nolint:gosec // a seed is what is wanted
}

func given(made []uint32) *choices { return &choices{given: made} }

// n returns a number below bound.
func (c *choices) n(bound int) int {
	if bound <= 1 {
		return 0
	}
	v := uint32(0)
	switch i := len(c.made); {
	case c.rng != nil:
		v = uint32(c.rng.IntN(bound))
	case i < len(c.given):
		v = c.given[i] % uint32(bound)
	}
	c.made = append(c.made, v)
	return int(v)
}

// oneIn is true once in so many times, never if that is 0.
func (c *choices) oneIn(times int) bool { return times > 0 && c.n(times) == times-1 }

// of returns one of the elements, the first one by default.
func of[T any](c *choices, all ...T) T { return all[c.n(len(all))] }

// format writes the choices that are not 0, each with its place.
func format(made []uint32) string {
	var parts []string
	for i, v := range made {
		if v != 0 {
			parts = append(parts, fmt.Sprintf("%d:%d", i, v))
		}
	}
	return strings.Join(parts, ",")
}

func parse(s string) ([]uint32, error) {
	var made []uint32
	for part := range strings.SplitSeq(s, ",") {
		place, value, ok := strings.Cut(part, ":")
		i, err := strconv.Atoi(place)
		v, err2 := strconv.ParseUint(value, 10, 32)
		if !ok || err != nil || err2 != nil || i < 0 || i > 1e6 {
			return nil, fmt.Errorf("choice %q is not place:value", part)
		}
		for len(made) <= i {
			made = append(made, 0)
		}
		made[i] = uint32(v)
	}
	return made, nil
}

// shorten looks for fewer and plainer choices with which the run still fails. It
// sets blocks of them to 0, large ones first, so that the places of the others
// stay.
func shorten(made []uint32, tries int, fails func([]uint32) bool) []uint32 {
	// What is left out at the end is plain, so first of all that is tried.
	best := made
	for cut := len(best) / 2; cut > 0 && tries > 0; {
		if tries--; fails(best[:len(best)-cut]) {
			best = best[:len(best)-cut]
			cut = min(cut, len(best)/2)
		} else {
			cut /= 2
		}
	}
	for size := max(len(best)/2, 1); tries > 0; size = max(size/2, 1) {
		shorter := false
		for from := 0; from < len(best) && tries > 0; from += size {
			next := append([]uint32(nil), best...)
			some := false
			for i := from; i < min(from+size, len(next)); i++ {
				some = some || next[i] != 0
				next[i] = 0
			}
			for len(next) > 0 && next[len(next)-1] == 0 {
				next = next[:len(next)-1]
			}
			if !some {
				continue
			}
			if tries--; fails(next) {
				best, shorter = next, true
			}
		}
		if size == 1 && !shorter {
			break
		}
	}
	return best
}
