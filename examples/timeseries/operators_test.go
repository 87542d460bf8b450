package main

import (
	"slices"
	"testing"
)

// series are points a second apart.
func series(values ...float64) []Point {
	points := make([]Point, len(values))
	for i, v := range values {
		points[i] = Point{firstStep + int64(i)*secondLong, v}
	}
	return points
}

func values(points []Point) []float64 {
	v := make([]float64, len(points))
	for i, p := range points {
		v[i] = p.V
	}
	return v
}

func wantValues(t *testing.T, what string, got []Point, want ...float64) {
	t.Helper()
	if !slices.Equal(values(got), want) {
		t.Errorf("%s is %v, want %v", what, values(got), want)
	}
}

// The values of F14, with the points that they are of.
var (
	f14Uptime  = []float64{10, 23, 28, 44, 2, 17, 90, 30, 2}
	f14Counter = []float64{5, 12, 7, 25, 7, 18, 33, 40, 5} // of 8 bits
	f14Rates   = []float64{7, 251, 18, 11, 15}
)

func TestF14CounterDerivative(t *testing.T) {
	resets := counterReset(series(f14Uptime...))
	wantValues(t, "the reset", resets, 1, 1, 1)
	wantValues(t, "the rate", counterDerivative(series(f14Counter...), resets, 256), f14Rates...)
}

func TestF15F16SumHasEverySecondOnce(t *testing.T) {
	a, b := make([]float64, 200), make([]float64, 200)
	for i := range a {
		a[i], b[i] = float64(i), 1000
	}
	made := sum([][]Point{series(a...), series(b...)})
	if len(made) != 200 {
		t.Fatalf("%d of 200 seconds", len(made))
	}
	for i, p := range made {
		if want := (Point{firstStep + int64(i)*secondLong, float64(i) + 1000}); p != want {
			t.Errorf("second %d is %v, want %v", i, p, want)
		}
	}
}

func TestSum(t *testing.T) {
	late := func(points []Point, by int64) []Point {
		for i := range points {
			points[i].T += by
		}
		return points
	}
	five := series(1, 2, 3, 4, 5)
	for _, test := range []struct {
		name    string
		streams [][]Point
		want    []float64
	}{
		{"of none", nil, nil},
		{"of one", [][]Point{series(21, 25)}, []float64{21, 25}},
		{"of two", [][]Point{series(21, 25), series(21, 25)}, []float64{42, 50}},
		{"within the second", [][]Point{series(21, 25), late(series(21, 25), 999)}, []float64{42, 50}},
		{"a second off", [][]Point{series(21, 25), late(series(21, 25), 1000)}, []float64{46}},
		{"one is empty", [][]Point{series(21, 25), nil}, nil},
		{"one lacks some", [][]Point{five, {five[1], five[3]}}, []float64{4, 8}},
		{"the last in a second counts", [][]Point{{{firstStep, 1}, {firstStep + 1, 2}}, series(10)}, []float64{12}},
	} {
		wantValues(t, "the sum "+test.name, sum(test.streams), test.want...)
	}
}

func TestPointBefore(t *testing.T) {
	at := func(hours, minutes int64, v float64) Point {
		return Point{firstStep + hours*hourLong + minutes*minuteLong, v}
	}
	for _, test := range []struct {
		name           string
		points         []Point
		derived, reset []float64
	}{
		{"none", nil, nil, nil},
		{"one", []Point{at(0, 0, 5)}, nil, nil},
		{"the same hour", []Point{at(0, 0, 60), at(0, 1, 0)}, []float64{-1}, []float64{1}},
		{"the hour before", []Point{at(0, 0, 0), at(1, 59, 119*60)}, []float64{1}, nil},
		{"an hour without any", []Point{at(0, 59, 60), at(2, 0, 0)}, nil, nil},
		{"it goes on after a gap", []Point{at(0, 59, 60), at(2, 0, 0), at(2, 1, 120)}, []float64{2}, nil},
	} {
		wantValues(t, "the derivative over "+test.name, derivative(test.points), test.derived...)
		wantValues(t, "the reset over "+test.name, counterReset(test.points), test.reset...)
		if test.reset == nil {
			wantValues(t, "the counter derivative over "+test.name, counterDerivative(test.points, nil, 1), test.derived...)
		}
	}
}

func TestCounterDerivative(t *testing.T) {
	points := series(5, 12, 7, 25)
	for _, test := range []struct {
		name   string
		resets []Point
		values float64
		want   []float64
	}{
		{"an overflow", nil, 256, []float64{7, 251, 18}},
		{"an unknown number of values", nil, 0, []float64{7, 18}},
		{"a reset at the first point", points[:1], 256, []float64{7, 251, 18}},
		{"a reset at the second", points[1:2], 256, []float64{251, 18}},
		{"a reset between", []Point{{points[1].T + 1, 1}}, 256, []float64{7, 18}},
		{"a reset at each", points, 256, nil},
		{"two resets between", []Point{{points[0].T + 1, 1}, {points[0].T + 2, 1}}, 256, []float64{251, 18}},
		{"a reset behind", []Point{{points[3].T + 1, 1}}, 256, []float64{7, 251, 18}},
	} {
		wantValues(t, "with "+test.name+" the rate", counterDerivative(points, test.resets, test.values), test.want...)
	}
}

func TestRatesArePerSecond(t *testing.T) {
	points := []Point{{firstStep, 10}, {firstStep + 500, 11}, {firstStep + 10_500, 31}}
	wantValues(t, "the derivative", derivative(points), 2, 2)
	wantValues(t, "the counter derivative", counterDerivative(points, nil, 0), 2, 2)
}
