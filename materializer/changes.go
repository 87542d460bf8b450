package materializer

import (
	"context"
	"errors"
	"iter"

	"github.com/refold-go/refold/bus"
)

// Changes returns the documents of the collection of which this process's Run
// stores a run from now on, one that failed too, each with its latest view when
// the loop gets to it: a document that changes several times in between is
// returned once. It is live only, and neither durable nor complete over a
// restart.
//
// A reader that falls behind by more than Config.Announcements documents gets
// [ErrLagged] and must read all again; when Run returns it gets
// [ErrNotRunning], and when ctx ends the context's cause. Each of them ends the
// stream, which can be read once; a second loop gets [ErrInvalid]. If it is not
// read at all, it is released when ctx ends.
func (c *Collection[S, O]) Changes(ctx context.Context) iter.Seq2[View[S], error] {
	sub := c.m.changes.Subscribe(c.m.cfg.Announcements)
	release := context.AfterFunc(ctx, sub.Close)
	return func(yield func(View[S], error) bool) {
		defer release()
		defer sub.Close()
		events := make([]changed, 256)
		for {
			n, err := sub.Receive(ctx, events)
			if err != nil {
				yield(View[S]{}, c.m.changesEnded(ctx, err))
				return
			}
			views, err := c.GetMany(ctx, c.among(events[:n])...)
			for _, view := range views {
				if !yield(view, nil) {
					return
				}
			}
			if err != nil {
				yield(View[S]{}, err)
				return
			}
		}
	}
}

// among returns the ids of this collection's documents, each once.
func (c *Collection[S, O]) among(events []changed) []string {
	var ids []string
	seen := make(map[string]struct{}, len(events))
	for _, e := range events {
		if _, twice := seen[e.key.ID]; twice || e.key.Collection != c.spec.Name {
			continue
		}
		seen[e.key.ID] = struct{}{}
		ids = append(ids, e.key.ID)
	}
	return ids
}

func (m *Materializer) changesEnded(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, bus.ErrLagged):
		return ErrLagged
	}
	select {
	case <-m.ended: // the bus is closed just after
		return m.notRunning()
	default:
		return &InvalidError{Field: "stream of changes", Got: "a second loop", Want: "one"}
	}
}
