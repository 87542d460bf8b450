package main

import (
	"time"

	"gonum.org/v1/plot"
)

// timeTicks has marks at full minutes, hours or days, at most nine.
type timeTicks struct{}

func (timeTicks) Ticks(least, most float64) []plot.Tick {
	const marks = 8
	steps := []time.Duration{time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour}
	for len(steps) > 1 && (most-least)/steps[0].Seconds() > marks {
		steps = steps[1:]
	}
	layout := "15:04"
	if steps[0] < time.Minute {
		layout = "15:04:05"
	}
	if most-least > (24 * time.Hour).Seconds() {
		layout = "Jan 2 15:04"
	}
	var ticks []plot.Tick
	from := time.UnixMilli(int64(least * 1000)).UTC()
	for at := from.Truncate(steps[0]); float64(at.Unix()) <= most; at = at.Add(steps[0]) {
		if !at.Before(from) {
			ticks = append(ticks, plot.Tick{Value: float64(at.Unix()), Label: at.Format(layout)})
		}
	}
	return ticks
}
