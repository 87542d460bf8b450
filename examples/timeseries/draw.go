package main

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/materializer"
)

// draw plots a stream from its views.
func draw(ctx context.Context, c *collections, stream, file string) error {
	d := drawing{stream: stream}
	for hour, err := range viewsOf(stream, c.points.All(ctx)) {
		if err != nil {
			return err
		}
		d.points = append(d.points, hour.State.Points...)
	}
	var err [3]error
	d.minutes, err[0] = d.spans(c.minutes.All(ctx), minuteLayout)
	d.hours, err[1] = d.spans(c.hours.All(ctx), hourLayout)
	d.days, err[2] = d.spans(c.days.All(ctx), time.DateOnly)
	if err := errors.Join(err[:]...); err != nil {
		return err
	}
	return d.write(file)
}

// spans are roll-ups of the stream. layout is that of the ids
// behind the name of the stream.
func (d *drawing) spans(all iter.Seq2[materializer.View[Rollup], error], layout string) ([]span, error) {
	var spans []span
	for view, err := range viewsOf(d.stream, all) {
		if err != nil {
			return nil, err
		}
		at, err := time.Parse(layout, view.ID[len(d.stream)+1:])
		if err != nil {
			return nil, err
		}
		spans = append(spans, span{at.UnixMilli(), view.State})
	}
	return spans, nil
}

// viewsOf are those of a stream, in order of time.
func viewsOf[S any](stream string, all iter.Seq2[materializer.View[S], error]) iter.Seq2[materializer.View[S], error] {
	return func(yield func(materializer.View[S], error) bool) {
		for view, err := range all {
			if err == nil && !strings.HasPrefix(view.ID, stream+"/") {
				continue
			}
			if !yield(view, err) {
				return
			}
		}
	}
}

// firstGauge is the first stream that is a gauge, or else the first one.
func firstGauge(streams map[string][]Point) string {
	names := slices.Sorted(maps.Keys(streams))
	for _, name := range names {
		if k, _ := kindOf(name); k == gauge {
			return name
		}
	}
	return names[0]
}
