package main

// The operators make a derived stream of the points of others, which are in order
// of time, and so is the result.
//
// Where one needs the point before, that is the last one before in the stream, if it is in the
// same hour or in the one before. After a longer gap a stream begins anew: its first point has no
// point before.

// pairs calls f with each point that has a point before, and with that.
func pairs(points []Point, f func(before, p Point)) {
	for i := 1; i < len(points); i++ {
		if before, p := points[i-1], points[i]; p.hour()-before.hour() <= 1 {
			f(before, p)
		}
	}
}

// derivative has the change per second since the point before.
func derivative(points []Point) (made []Point) {
	pairs(points, func(before, p Point) {
		made = append(made, Point{p.T, perSecond(before, p, p.V-before.V)})
	})
	return made
}

// counterReset has a 1 where a value is lower than the one before.
func counterReset(points []Point) (made []Point) {
	pairs(points, func(before, p Point) {
		if p.V < before.V {
			made = append(made, Point{p.T, 1})
		}
	})
	return made
}

// counterDerivative has what a counter counted per second since the point before.
// If a reset is between them, or at the time of the later one, that is not known, and
// there is no point. A decrease without a reset is an overflow: the counter went on
// from 0 after values-1; it is a reset if values is 0.
func counterDerivative(points, resets []Point, values float64) (made []Point) {
	pairs(points, func(before, p Point) {
		for len(resets) > 0 && resets[0].T <= before.T {
			resets = resets[1:]
		}
		if len(resets) > 0 && resets[0].T <= p.T {
			return
		}
		counted := p.V - before.V
		if counted < 0 {
			if values == 0 {
				return
			}
			counted += values
		}
		made = append(made, Point{p.T, perSecond(before, p, counted)})
	})
	return made
}

func perSecond(before, p Point, change float64) float64 {
	return change / (float64(p.T-before.T) / float64(secondLong))
}

// sum has a point for each second in which every stream has one. The last one in a
// second counts, and they are added in the order of the streams.
func sum(streams [][]Point) (made []Point) {
	if len(streams) == 0 {
		return nil
	}
	values := make([]map[int64]float64, len(streams))
	for i, points := range streams {
		values[i] = make(map[int64]float64, len(points))
		for _, p := range points {
			values[i][p.T/secondLong] = p.V
		}
	}
	for i, p := range streams[0] {
		second := p.T / secondLong
		if i > 0 && streams[0][i-1].T/secondLong == second {
			continue
		}
		total, all := 0.0, true
		for _, of := range values {
			v, has := of[second]
			total, all = total+v, all && has
		}
		if all {
			made = append(made, Point{second * secondLong, total})
		}
	}
	return made
}
