package main

import "testing"

func TestF10LatePointIsInEveryRollup(t *testing.T) {
	points := make([]float64, 60)
	for i := range points {
		points[i] = 1
	}
	got := compute(map[string][]Point{"s1": append([]Point{{firstStep - hourLong, 5}}, append(series(points...), Point{firstStep + 59_500, 1000})...)})
	want := Rollup{Count: 61, Sum: 1060, Min: 1, Max: 1000, Mean: 1060.0 / 61, Last: 1000}
	if r := got.minutes["s1/2026-01-01T21:00"]; r != want {
		t.Errorf("the minute is %+v", r)
	}
	if r := got.hours["s1/2026-01-01T21"]; r != want {
		t.Errorf("the hour is %+v", r)
	}
	want = Rollup{Count: 62, Sum: 1065, Min: 1, Max: 1000, Mean: 1065.0 / 62, Last: 1000}
	if r := got.days["s1/2026-01-01"]; r != want {
		t.Errorf("the day is %+v", r)
	}
}

func TestStraightHasEveryDocument(t *testing.T) {
	s := compute(map[string][]Point{
		"d1.uptime":   series(f14Uptime...),
		"d1.counter8": series(f14Counter...),
		"d1.load":     series(1, 2, 4),
		"d2.load":     series(1, 1, 1),
	})
	const hour = "/2026-01-01T21"
	wantValues(t, "the points", s.points["d1.load"+hour].Points, 1, 2, 4)
	wantValues(t, "the resets", s.resets["reset(d1.uptime)"+hour].Points, 1, 1, 1)
	wantValues(t, "the rate of the gauge", s.rates["rate(d1.load)"+hour].Points, 1, 2)
	wantValues(t, "the rate of the counter", s.rates["rate(d1.counter8)"+hour].Points, f14Rates...)
	wantValues(t, "the sum of the gauges", s.sums["sum(gauge)"+hour].Points, 2, 3, 5)
	wantValues(t, "the sum of the counters", s.sums["sum(counter)"+hour].Points, f14Rates...)
	for what, got := range map[string][2]int{
		"sets": {len(s.sets), 2}, "points": {len(s.points), 4}, "resets": {len(s.resets), 1}, "rates": {len(s.rates), 3}, "sums": {len(s.sums), 2},
		"minutes": {len(s.minutes), 10}, "hours": {len(s.hours), 10}, "days": {len(s.days), 10},
	} {
		if got[0] != got[1] {
			t.Errorf("%d %s, want %d", got[0], what, got[1])
		}
	}
	if r, want := s.days["reset(d1.uptime)/2026-01-01"], (Rollup{3, 3, 1, 1, 1, 1}); r != want {
		t.Errorf("the resets of the day are %+v", r)
	}
}
