package main

import (
	"iter"

	"github.com/refold-go/refold/materializer"
)

// collections are all that is kept.
type collections struct {
	points              *materializer.Collection[Chunk, Point]
	sets                *materializer.Collection[Set, Added]
	resets, rates, sums *materializer.Derived[Chunk]
	minutes, hours      *materializer.Derived[Rollup]
	days                *materializer.Derived[Rollup]
}

func register(m *materializer.Materializer) (c collections, err error) {
	steps := []func() error{
		func() (err error) { c.points, err = registerPoints(m); return },
		func() (err error) { c.sets, err = registerSets(m); return },
		func() (err error) { c.resets, err = registerResets(m, c.points); return },
		func() (err error) { c.rates, err = registerRates(m, c.points, c.resets); return },
		func() (err error) { c.sums, err = registerSums(m, c.sets, c.points, c.rates); return },
		func() (err error) { c.minutes, err = registerMinutes(m, &c); return },
		func() (err error) { c.hours, err = registerCoarser(m, "hours", c.minutes); return },
		func() (err error) { c.days, err = registerCoarser(m, "days", c.hours); return },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return c, err
		}
	}
	return c, nil
}

func registerPoints(m *materializer.Materializer) (*materializer.Collection[Chunk, Point], error) {
	return materializer.Register(m, materializer.Spec[Chunk, Point]{
		Name: "points", Version: 1,
		Fold: func(c Chunk, op materializer.Operation[Point]) (Chunk, error) {
			if err := c.insert(op.Body); err != nil {
				return c, materializer.Permanent(err)
			}
			return c, nil
		},
	})
}

func registerSets(m *materializer.Materializer) (*materializer.Collection[Set, Added], error) {
	return materializer.Register(m, materializer.Spec[Set, Added]{
		Name: "sets", Version: 1,
		Fold: func(s Set, op materializer.Operation[Added]) (Set, error) {
			s.insert(op.Body.Stream)
			return s, nil
		},
	})
}

// registerMinutes makes minutes of every stream. Each minute is of one hour of one
// stream, so that it has one contribution.
func registerMinutes(m *materializer.Materializer, c *collections) (*materializer.Derived[Rollup], error) {
	minutes := func(id string, hour Chunk, emit func(key string, r Rollup)) error {
		stream, _, err := parseChunkID(id)
		if err != nil {
			return materializer.Permanent(err)
		}
		perMinute(stream, hour.Points, emit)
		return nil
	}
	return materializer.ByContributions(m, materializer.Contributions[Rollup, Rollup]{
		Name: "minutes", Version: 1,
		Sources: []materializer.Source[Rollup]{
			materializer.From(c.points, minutes),
			materializer.From(c.resets, minutes),
			materializer.From(c.rates, minutes),
			materializer.From(c.sums, minutes),
		},
		Reduce: addAll,
	})
}

// registerCoarser makes hours of minutes, or days of hours.
func registerCoarser(m *materializer.Materializer, name string, of *materializer.Derived[Rollup]) (*materializer.Derived[Rollup], error) {
	return materializer.ByContributions(m, materializer.Contributions[Rollup, Rollup]{
		Name: name, Version: 1,
		Sources: []materializer.Source[Rollup]{
			materializer.From(of, func(id string, r Rollup, emit func(key string, r Rollup)) error {
				emit(coarser(id), r)
				return nil
			}),
		},
		Reduce: addAll,
	})
}

// addAll adds contributions, which come in order of the ids of their sources: that
// of time.
func addAll(_ string, all iter.Seq2[materializer.Contributor, Rollup]) (Rollup, error) {
	var r Rollup
	for _, later := range all {
		r = r.add(later)
	}
	return r, nil
}

// setOf is the id of the set that a stream is in, or nothing for an uptime.
func setOf(stream string) (id string, in bool) {
	k, _ := kindOf(stream)
	return string(k), k != uptime
}
