package main

import "time"

// Rollup is the view of a minute, an hour or a day of a stream.
type Rollup struct {
	Count int64   `json:"count"`
	Sum   float64 `json:"sum"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
	Mean  float64 `json:"mean"`
	Last  float64 `json:"last"`
}

// rollupOf is that of one point.
func rollupOf(p Point) Rollup {
	return Rollup{Count: 1, Sum: p.V, Min: p.V, Max: p.V, Mean: p.V, Last: p.V}
}

// add adds what is later. Sums of floating point numbers depend on the order in
// which they are made, so that it is laid down: points in order of time make a minute, minutes
// an hour, and hours a day.
func (r Rollup) add(later Rollup) Rollup {
	if r.Count == 0 {
		return later
	}
	r.Count += later.Count
	r.Sum += later.Sum
	r.Min = min(r.Min, later.Min)
	r.Max = max(r.Max, later.Max)
	r.Mean = r.Sum / float64(r.Count)
	r.Last = later.Last
	return r
}

// minuteID is the id of the minute of a point: s1/2026-01-02T03:04. That of the hour,
// and then of the day, has three letters less each time; see [coarser].
func minuteID(stream string, p Point) string {
	return stream + "/" + time.UnixMilli(p.T).UTC().Format(minuteLayout)
}

// coarser is the id of the hour of a minute, or of the day of an hour.
func coarser(id string) string { return id[:max(len(id)-len(":04"), 0)] }

// perMinute calls f with each minute of points in order of time.
func perMinute(stream string, points []Point, f func(id string, r Rollup)) {
	var r Rollup
	for i, p := range points {
		r = r.add(rollupOf(p))
		if i+1 < len(points) && points[i+1].T/minuteLong == p.T/minuteLong {
			continue
		}
		f(minuteID(stream, p), r)
		r = Rollup{}
	}
}
