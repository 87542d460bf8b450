package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/refold-go/refold/materializer"
)

// readPoints reads all points from the log of operations, stream by stream in order of
// time. What is wrong with them is told to v.
func readPoints(ctx context.Context, m *materializer.Materializer, c *collections, v *verifier) (map[string][]Point, error) {
	streams := map[string][]Point{}
	for logged, err := range m.Operations(ctx, materializer.Token{}, materializer.Token{}) {
		if err != nil {
			return nil, err
		}
		if logged.Key.Collection != c.points.Name() {
			continue
		}
		op, err := c.points.Decode(logged)
		if err != nil {
			return nil, err
		}
		stream, hour, err := parseChunkID(op.Document)
		if err != nil || hour != op.Body.hour() || op.ID != pointID(op.Body) {
			v.differ("points/%s: operation %d, with id %q, is a point at %s", op.Document, op.Seq, op.ID, timeText(op.Body.T))
			continue
		}
		streams[stream] = append(streams[stream], op.Body)
	}
	for stream, points := range streams {
		slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.T, b.T) })
		for i := 1; i < len(points); i++ {
			if points[i-1].T == points[i].T {
				v.differ("%s: two points at %s are stored", stream, timeText(points[i].T))
			}
		}
	}
	return streams, nil
}

func count(streams map[string][]Point) (n int) {
	for _, points := range streams {
		n += len(points)
	}
	return n
}

// verifier compares what is stored with what has to be.
type verifier struct {
	documents   []string // how many of each collection, in words
	wrong       []string // the first differences
	differences int
}

const differencesShown = 10

func (v *verifier) differ(format string, args ...any) {
	v.differences++
	if len(v.wrong) < differencesShown {
		v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
	}
}

// given checks that what the program was given is stored.
func (v *verifier) given(samples []sample, stored map[string][]Point) {
	for _, s := range samples {
		points := stored[s.Stream]
		i, there := slices.BinarySearchFunc(points, s.T, func(p Point, t int64) int { return cmp.Compare(p.T, t) })
		switch {
		case !there:
			v.differ("%s: the point at %s is not stored", s.Stream, timeText(s.T))
		case points[i].V != s.V:
			v.differ("%s: the point at %s is stored as %v, not %v", s.Stream, timeText(s.T), points[i].V, s.V)
		}
	}
}

// verify compares every document with what the points make.
func (v *verifier) verify(ctx context.Context, c *collections, streams map[string][]Point) error {
	want := compute(streams)
	for _, compare := range []func() error{
		func() error { return compareAll(v, "points", want.points, c.points.All(ctx)) },
		func() error { return compareAll(v, "sets", want.sets, c.sets.All(ctx)) },
		func() error { return compareAll(v, "resets", want.resets, c.resets.All(ctx)) },
		func() error { return compareAll(v, "rates", want.rates, c.rates.All(ctx)) },
		func() error { return compareAll(v, "sums", want.sums, c.sums.All(ctx)) },
		func() error { return compareAll(v, "minutes", want.minutes, c.minutes.All(ctx)) },
		func() error { return compareAll(v, "hours", want.hours, c.hours.All(ctx)) },
		func() error { return compareAll(v, "days", want.days, c.days.All(ctx)) },
	} {
		if err := compare(); err != nil {
			return err
		}
	}
	return nil
}

// compareAll compares a collection with the views that it has to have, and empties want.
func compareAll[S any](v *verifier, name string, want map[string]S, all iter.Seq2[materializer.View[S], error]) error {
	v.documents = append(v.documents, fmt.Sprintf("%s %d", name, len(want)))
	for view, err := range all {
		if err != nil {
			return err
		}
		right, ok := want[view.ID]
		delete(want, view.ID)
		switch {
		case view.Parked:
			v.differ("%s/%s is parked", name, view.ID)
		case !ok:
			v.differ("%s/%s is %+v, and must not be there", name, view.ID, view.State)
		case !reflect.DeepEqual(view.State, right):
			v.differ("%s/%s is %s, the points make %s", name, view.ID, text(view.State), text(right))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		v.differ("%s/%s is not there, the points make %s", name, id, text(want[id]))
	}
	return nil
}

// text is the beginning of a view in words.
func text(view any) string {
	const most = 200
	s := fmt.Sprintf("%+v", view)
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
