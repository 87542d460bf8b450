package main

import (
	"maps"
	"slices"
)

// straight is every document that is to be there, computed from all points of all
// streams at once, without a store and without chunks.
type straight struct {
	sets                        map[string]Set
	points, resets, rates, sums map[string]Chunk
	minutes, hours, days        map[string]Rollup
}

// compute computes from points in order of time.
func compute(streams map[string][]Point) *straight {
	s := &straight{
		sets:   map[string]Set{},
		points: map[string]Chunk{}, resets: map[string]Chunk{}, rates: map[string]Chunk{}, sums: map[string]Chunk{},
		minutes: map[string]Rollup{}, hours: map[string]Rollup{}, days: map[string]Rollup{},
	}
	summed := map[kind][][]Point{}
	for _, stream := range slices.Sorted(maps.Keys(streams)) {
		points := streams[stream]
		s.keep(s.points, stream, points)
		k, values := kindOf(stream)
		switch k {
		case uptime:
			s.keep(s.resets, derivedName(resetOf, stream), counterReset(points))
		case gauge:
			s.keep(s.rates, derivedName(rateOf, stream), derivative(points))
			s.add(k, stream)
			summed[k] = append(summed[k], points)
		case counter:
			rate := counterDerivative(points, counterReset(streams[uptimeOf(stream)]), values)
			s.keep(s.rates, derivedName(rateOf, stream), rate)
			s.add(k, stream)
			summed[k] = append(summed[k], rate)
		}
	}
	for k, of := range summed {
		s.keep(s.sums, derivedName(sumOf, string(k)), sum(of))
	}
	coarsen(s.minutes, s.hours)
	coarsen(s.hours, s.days)
	return s
}

func (s *straight) add(k kind, stream string) {
	set := s.sets[string(k)]
	set.Streams = append(set.Streams, stream)
	s.sets[string(k)] = set
}

// keep adds a stream, and its minutes.
func (s *straight) keep(in map[string]Chunk, stream string, points []Point) {
	for _, p := range points {
		id := chunkID(stream, p.hour())
		c := in[id]
		c.Points = append(c.Points, p)
		in[id] = c

		id = minuteID(stream, p)
		s.minutes[id] = s.minutes[id].add(rollupOf(p))
	}
}

func coarsen(fine, coarse map[string]Rollup) {
	for _, id := range slices.Sorted(maps.Keys(fine)) { // in order of time, stream by stream
		coarse[coarser(id)] = coarse[coarser(id)].add(fine[id])
	}
}
