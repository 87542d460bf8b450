package main

import (
	"errors"

	"github.com/refold-go/refold/materializer"
)

// Derived streams are made by reads, hour by hour. What needs the point before
// reads the hour before as well: that is as far as a point before can be.

func registerResets(m *materializer.Materializer, points *materializer.Collection[Chunk, Point]) (*materializer.Derived[Chunk], error) {
	return materializer.ByReads(m, materializer.Reads[Chunk]{
		Name: "resets", Version: 1,
		Sources: []materializer.Concern{
			materializer.Concerns(points, func(id string, _ Chunk) []string {
				stream, hour, err := parseChunkID(id)
				if k, _ := kindOf(stream); err != nil || k != uptime {
					return nil
				}
				return []string{chunkID(derivedName(resetOf, stream), hour)}
			}),
		},
		Build: func(r *materializer.Reader, id string) (Chunk, error) {
			of, hour, err := parseDerivedID(resetOf, id)
			if err != nil {
				return Chunk{}, err
			}
			data, err := twoHours(r, points, of, hour)
			return hourly(hour, counterReset(data), err)
		},
	})
}

// registerRates makes the derivative of gauges and the counter derivative of counters. A
// reset concerns those hours that read it, so that nobody has to know the counters
// of a device.
func registerRates(m *materializer.Materializer, points *materializer.Collection[Chunk, Point], resets *materializer.Derived[Chunk]) (*materializer.Derived[Chunk], error) {
	return materializer.ByReads(m, materializer.Reads[Chunk]{
		Name: "rates", Version: 1,
		Sources: []materializer.Concern{
			materializer.Concerns(points, func(id string, _ Chunk) []string {
				stream, hour, err := parseChunkID(id)
				if k, _ := kindOf(stream); err != nil || k == uptime {
					return nil
				}
				return []string{chunkID(derivedName(rateOf, stream), hour)}
			}),
			materializer.Concerns(resets, nil),
		},
		Build: func(r *materializer.Reader, id string) (Chunk, error) {
			of, hour, err := parseDerivedID(rateOf, id)
			if err != nil {
				return Chunk{}, err
			}
			data, err := twoHours(r, points, of, hour)
			if err != nil {
				return Chunk{}, err
			}
			k, values := kindOf(of)
			if k == gauge {
				return hourly(hour, derivative(data), nil)
			}
			restarts, err := twoHours(r, resets, derivedName(resetOf, uptimeOf(of)), hour)
			return hourly(hour, counterDerivative(data, restarts, values), err)
		},
	})
}

// registerSums makes the sum of all gauges, and that of the rates of all counters. A stream
// that comes into a set later concerns all hours, because they have read the set.
func registerSums(m *materializer.Materializer, sets *materializer.Collection[Set, Added], points *materializer.Collection[Chunk, Point], rates *materializer.Derived[Chunk]) (*materializer.Derived[Chunk], error) {
	return materializer.ByReads(m, materializer.Reads[Chunk]{
		Name: "sums", Version: 1,
		Sources: []materializer.Concern{
			materializer.Concerns(sets, nil),
			materializer.Concerns(points, func(id string, _ Chunk) []string {
				stream, hour, err := parseChunkID(id)
				if k, _ := kindOf(stream); err != nil || k != gauge {
					return nil
				}
				return []string{chunkID(derivedName(sumOf, string(gauge)), hour)}
			}),
			materializer.Concerns(rates, func(id string, _ Chunk) []string {
				of, hour, err := parseDerivedID(rateOf, id)
				if k, _ := kindOf(of); err != nil || k != counter {
					return nil
				}
				return []string{chunkID(derivedName(sumOf, string(counter)), hour)}
			}),
		},
		Build: func(r *materializer.Reader, id string) (Chunk, error) {
			set, hour, err := parseDerivedID(sumOf, id)
			if err != nil {
				return Chunk{}, err
			}
			members, err := read(r, sets, set)
			if err != nil {
				return Chunk{}, err
			}
			streams := make([][]Point, len(members.Streams))
			for i, stream := range members.Streams {
				if set == string(gauge) {
					streams[i], err = readHour(r, points, stream, hour)
				} else {
					streams[i], err = readHour(r, rates, derivedName(rateOf, stream), hour)
				}
				if err != nil {
					return Chunk{}, err
				}
			}
			return hourly(hour, sum(streams), nil)
		},
	})
}

// parseDerivedID returns of what stream a document is the derived hour. An id that is
// none is nobody's mistake but ours, and trying again does not help.
func parseDerivedID(operator, id string) (of string, hour int64, err error) {
	stream, hour, err := parseChunkID(id)
	if err == nil {
		of, err = operand(operator, stream)
	}
	if err != nil {
		return "", 0, materializer.Permanent(err)
	}
	return of, hour, nil
}

// twoHours reads the points of an hour and of the one before.
func twoHours(r *materializer.Reader, from materializer.Readable[Chunk], stream string, hour int64) ([]Point, error) {
	before, err := readHour(r, from, stream, hour-1)
	if err != nil {
		return nil, err
	}
	points, err := readHour(r, from, stream, hour)
	return append(before, points...), err
}

// readHour reads the points of an hour.
func readHour(r *materializer.Reader, from materializer.Readable[Chunk], stream string, hour int64) ([]Point, error) {
	c, err := read(r, from, chunkID(stream, hour))
	return c.Points, err
}

// read reads a document. That there is none is recorded as well, so that the build goes
// again when it comes.
func read[S any](r *materializer.Reader, from materializer.Readable[S], id string) (S, error) {
	state, err := materializer.Read(r, from, id)
	if errors.Is(err, materializer.ErrNotFound) || errors.Is(err, materializer.ErrDeleted) {
		err = nil
	}
	return state, err
}

// hourly is the view of an hour: what is made of it, or that there is nothing.
func hourly(hour int64, made []Point, err error) (Chunk, error) {
	if err != nil {
		return Chunk{}, err
	}
	if made = within(hour, made); len(made) == 0 {
		return Chunk{}, materializer.Deleted
	}
	return Chunk{made}, nil
}
