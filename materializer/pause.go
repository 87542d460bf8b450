package materializer

import (
	"context"

	"github.com/refold-go/refold/store"
)

// Pause holds back the documents of a collection, in this process and all others,
// until Unpause, also across restarts: runs in hand end and are stored, and no
// other begins. Another process notices within a second, another materializer
// over the same opened store within half a minute. The collection can be appended to and read meanwhile; a read with
// [AtLeast], Wait and Drain wait until it goes on. It need not be registered here.
// Errors: [ErrNotFound] if the store has no such collection, and those of the
// store.
func (m *Materializer) Pause(ctx context.Context, collection string) error {
	return m.pause(ctx, collection, true)
}

// Unpause lets a paused collection go on; it does nothing if it is not paused.
// Errors as for [Materializer.Pause].
func (m *Materializer) Unpause(ctx context.Context, collection string) error {
	return m.pause(ctx, collection, false)
}

// Pause is [Materializer.Pause] for this collection.
func (c *Collection[S, O]) Pause(ctx context.Context) error { return c.m.Pause(ctx, c.spec.Name) }

// Unpause is [Materializer.Unpause] for this collection.
func (c *Collection[S, O]) Unpause(ctx context.Context) error { return c.m.Unpause(ctx, c.spec.Name) }

func (m *Materializer) pause(ctx context.Context, collection string, paused bool) error {
	if err := store.CheckCollection(collection); err != nil {
		return err
	}
	err := m.st.Pause(ctx, collection, paused)
	// After an error it may be so all the same.
	if err2 := m.refreshPaused(context.WithoutCancel(ctx)); err == nil {
		err = err2
	}
	return err
}

// refreshPaused learns from the store which collections are paused. What goes on
// again is read from the store.
func (m *Materializer) refreshPaused(ctx context.Context) error {
	m.pausing.Lock()
	defer m.pausing.Unlock()
	stored, err := m.st.Collections(ctx)
	if err != nil {
		return err
	}
	resumed := false
	for _, s := range stored {
		if c := m.collection(s.Name); c != nil {
			resumed = c.paused.Swap(s.Paused) && !s.Paused || resumed
		}
	}
	if resumed {
		m.table.Reread()
		m.suspects.look()
	}
	return nil
}
