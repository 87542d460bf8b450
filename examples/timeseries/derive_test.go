package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/refold-go/refold/materializer"
)

const f14Hour = "/2026-01-01T21"

func pointsOf(t *testing.T, of interface {
	Get(context.Context, string, ...materializer.ReadOption) (materializer.View[Chunk], error)
}, id string) []Point {
	t.Helper()
	view, err := of.Get(t.Context(), id)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return view.State.Points
}

// The counter first, the uptime first, and one by one in any order.
func TestF14BothArrivalOrdersGiveTheSame(t *testing.T) {
	up, counted := samplesOf("d1.uptime", series(f14Uptime...)), samplesOf("d1.counter8", series(f14Counter...))
	mixed := slices.Concat(counted, up)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	for name, arrival := range map[string][]sample{
		"counter first": slices.Concat(counted, up),
		"uptime first":  slices.Concat(up, counted),
		"mixed":         mixed,
	} {
		t.Run(name, func(t *testing.T) {
			for _, atOnce := range []int{1, 5, 100} {
				c := derive(t, arrival, atOnce)
				wantValues(t, "the reset", pointsOf(t, c.resets, "reset(d1.uptime)"+f14Hour), 1, 1, 1)
				wantValues(t, "the rate", pointsOf(t, c.rates, "rate(d1.counter8)"+f14Hour), f14Rates...)
			}
		})
	}
}

func TestF10LatePointIsAggregated(t *testing.T) {
	ones := make([]float64, 60)
	for i := range ones {
		ones[i] = 1
	}
	samples := samplesOf("s1", append(series(ones...), Point{firstStep + 2*hourLong, 1}, Point{firstStep + 30_500, 1000}))
	for _, atOnce := range []int{1, 61, 100} { // with 61, the late one comes alone
		c := derive(t, samples, atOnce)
		for what, get := range map[string]func() (materializer.View[Rollup], error){
			"minute": func() (materializer.View[Rollup], error) { return c.minutes.Get(t.Context(), "s1/2026-01-01T21:00") },
			"hour":   func() (materializer.View[Rollup], error) { return c.hours.Get(t.Context(), "s1/2026-01-01T21") },
		} {
			if view, err := get(); err != nil || view.State.Sum != 1060 || view.State.Count != 61 {
				t.Errorf("the %s is %+v, %v", what, view.State, err)
			}
		}
		if day, err := c.days.Get(t.Context(), "s1/2026-01-01"); err != nil || day.State.Sum != 1061 {
			t.Errorf("the day is %+v, %v", day.State, err)
		}
	}
}

// One source after the other, one 120 seconds late, and both at once.
func TestF15F16SumHas200Of200SecondsWhoeverIsLate(t *testing.T) {
	v := make([]float64, 200)
	for i := range v {
		v[i] = float64(i)
	}
	a, b := samplesOf("a", series(v...)), samplesOf("b", series(v...))
	var late, both []sample
	for i := range a {
		both = append(both, a[i], b[i])
		late = append(late, a[i])
		if i >= 120 {
			late = append(late, b[i-120])
		}
	}
	late = append(late, b[80:]...)
	for name, arrival := range map[string][]sample{"one after the other": slices.Concat(a, b), "120 late": late, "both at once": both} {
		t.Run(name, func(t *testing.T) {
			c := derive(t, arrival, 20)
			for i := range v {
				v[i] = 2 * float64(i)
			}
			wantValues(t, "the sum", pointsOf(t, c.sums, "sum(gauge)"+f14Hour), v...)
			for i := range v {
				v[i] = float64(i)
			}
		})
	}
}

// A point before may be in the hour before, and come later than the one that needs it.
func TestPointBeforeComesLater(t *testing.T) {
	before, after := Point{firstStep + hourLong - secondLong, 40}, Point{firstStep + hourLong, 42}
	c := derive(t, []sample{{"s1", after}, {"s1", before}}, 1)
	wantValues(t, "the rate", pointsOf(t, c.rates, "rate(s1)/2026-01-01T22"), 2)
}

// So may a reset be, after the last point of the counter there.
func TestResetIsInTheHourBefore(t *testing.T) {
	hour := firstStep + hourLong
	samples := []sample{
		{"d1.counter8", Point{hour + 5000, 3}},
		{"d1.counter8", Point{hour + 6000, 5}},
		{"d1.counter8", Point{hour - 5000, 100}},
		{"d1.uptime", Point{hour - 10_000, 77}},
		{"d1.uptime", Point{hour - 1000, 2}},
	}
	for _, atOnce := range []int{1, len(samples)} {
		c := derive(t, samples, atOnce)
		wantValues(t, "the rate", pointsOf(t, c.rates, "rate(d1.counter8)/2026-01-01T22"), 2)
		slices.Reverse(samples)
	}
}

// A stream that joins late takes the sums apart that were there before, and then completes them.
func TestSumWaitsForEveryStreamOfItsSet(t *testing.T) {
	a, b := samplesOf("a", series(1, 2, 3)), samplesOf("b", series(10, 20, 30))
	const id = "sum(gauge)" + f14Hour
	c := derive(t, a, 3)
	wantValues(t, "the sum of one", pointsOf(t, c.sums, id), 1, 2, 3)
	c = derive(t, slices.Concat(a, b[1:2]), 1)
	wantValues(t, "the sum of two", pointsOf(t, c.sums, id), 22)
	c = derive(t, slices.Concat(a, samplesOf("b", []Point{{firstStep + 2*hourLong, 1}})), 1)
	if view, err := c.sums.Get(t.Context(), id); !errors.Is(err, materializer.ErrDeleted) {
		t.Errorf("a sum that lacks a stream is %+v, %v", view, err)
	}
}

func TestGeneratedPointsInAnyOrder(t *testing.T) {
	orders, samples := uint64(3), generate(7, 300, 1)
	if testing.Short() {
		orders, samples = 1, generate(4, 150, 1)
	}
	for seed := range orders {
		shuffle(samples, seed)
		derive(t, samples, 100)
	}
}
