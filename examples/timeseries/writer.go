package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/refold-go/refold/materializer"
)

// writer appends samples.
type writer struct {
	m   *materializer.Materializer
	c   collections
	set map[string]bool // streams that are in their set for certain
}

// append appends samples in one transaction, with the streams that are new. The id of a
// point is its time, that of a stream in a set its name.
func (w *writer) append(ctx context.Context, samples []sample) error {
	hours := map[string][]materializer.NewOperation[Point]{}
	sets := map[string][]materializer.NewOperation[Added]{}
	streams := map[string]bool{}
	for _, s := range samples {
		id := chunkID(s.Stream, s.hour())
		hours[id] = append(hours[id], materializer.NewOperation[Point]{ID: pointID(s.Point), Time: time.UnixMilli(s.T), Body: s.Point})
		set, in := setOf(s.Stream)
		if in && !w.set[s.Stream] && !streams[s.Stream] {
			streams[s.Stream] = true
			sets[set] = append(sets[set], materializer.NewOperation[Added]{ID: s.Stream, Body: Added{s.Stream}})
		}
	}
	changes := make([]materializer.Change, 0, len(hours)+len(sets))
	for id, ops := range hours {
		changes = append(changes, w.c.points.ChangeWith(id, ops...))
	}
	for id, ops := range sets {
		changes = append(changes, w.c.sets.ChangeWith(id, ops...))
	}
	_, err := w.m.Append(ctx, changes...)
	if errors.Is(err, materializer.ErrInDoubt) {
		_, err = w.m.Append(ctx, changes...) // they have ids: what was stored is not stored again
	}
	if errors.Is(err, materializer.ErrIDReused) {
		return fmt.Errorf("the file has other points than these: %w", err)
	}
	if err != nil {
		return err
	}
	if w.set == nil {
		w.set = map[string]bool{}
	}
	for stream := range streams {
		w.set[stream] = true
	}
	return nil
}

// pointID is the operation id of a point in its stream.
func pointID(p Point) string { return strconv.FormatInt(p.T, 10) }
