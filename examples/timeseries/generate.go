package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// sample is a point of a stream on its way.
type sample struct {
	Stream string `json:"s"`
	Point
}

var firstStep = time.Date(2026, 1, 1, 21, 0, 0, 0, time.UTC).UnixMilli()

const (
	stepLong    = 10 * secondLong
	stepsOnEnd  = 500              // then there is a gap
	gapLong     = 150 * minuteLong // at least one hour has no point
	counterBits = 16
)

// generate makes streams of devices that have a gauge, an uptime and a counter each.
// A device samples what it has every ten seconds, a bit late, and now and then misses
// a point or restarts. The same seed gives the same points, and more streams, or more
// points of each, are the same ones and others.
func generate(streams, points int, seed uint64) []sample {
	samples := make([]sample, 0, streams*points)
	for first := 0; first < streams; first += 3 {
		number := first/3 + 1
		d := device{rng: rand.New(rand.NewPCG(seed, uint64(number)))} // #nosec G115 G404 -- positive; not for secrets
		names := []string{
			fmt.Sprintf("d%d.load", number),
			fmt.Sprintf("d%d.uptime", number),
			fmt.Sprintf("d%d.counter%d", number, counterBits),
		}
		for step := range points {
			t := firstStep + int64(step)*stepLong + int64(step/stepsOnEnd)*gapLong
			late, values, missed := d.step(step)
			for i, name := range names[:min(len(names), streams-first)] {
				if !missed[i] {
					samples = append(samples, sample{name, Point{t + late, values[i]}})
				}
			}
		}
	}
	return samples
}

// device is what is measured.
type device struct {
	rng     *rand.Rand
	load    float64
	up      float64
	counted float64
}

// step goes on by one sample. It draws equally often each time.
func (d *device) step(step int) (late int64, values [3]float64, missed [3]bool) {
	passed := float64(stepLong / secondLong)
	if step > 0 && step%stepsOnEnd == 0 {
		passed += float64(gapLong / secondLong)
	}
	late = d.rng.Int64N(secondLong)
	restart := step == 0 || d.rng.IntN(250) == 0
	walk, some := d.rng.Float64(), float64(d.rng.IntN(4000))
	for i := range missed {
		missed[i] = d.rng.IntN(100) == 0
	}
	d.load = math.Abs(math.Round((d.load+10*walk-5)*100) / 100)
	d.up += passed
	d.counted = math.Mod(d.counted+some, 1<<counterBits)
	if restart {
		d.up, d.counted = float64(late%7), some
	}
	return late, [3]float64{d.load, d.up, d.counted}, missed
}
