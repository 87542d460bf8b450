package materializer

import (
	"cmp"
	"context"
	"slices"
	"time"

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
	if err2 := m.refresh(context.WithoutCancel(ctx)); err2 != nil {
		m.lookAfter() // the keeper reads it as soon as it can; nobody else would before the next sweep
		err = cmp.Or(err, err2)
	}
	return err
}

// refresh learns from the store which collections are paused, and which generations are
// served. What goes on again is read from the store.
func (m *Materializer) refresh(ctx context.Context) error {
	m.refreshing.Lock()
	defer m.refreshing.Unlock()
	stored, err := m.st.Collections(ctx)
	if err != nil {
		return err
	}
	if m.learn(stored) {
		m.table.Reread()
		m.suspects.look()
		m.lookAside()
	}
	return nil
}

// learn takes up what the store says of collections, and reports whether there is
// something to read: one goes on, or another generation is served.
func (m *Materializer) learn(stored []store.Collection) (read bool) {
	for name, own := range m.registry.Load().named {
		if !slices.ContainsFunc(stored, func(s store.Collection) bool { return s.Name == name }) {
			for _, c := range own {
				c.held.Store(0) // it was dropped, and nobody will say that the hold is over
			}
		}
	}
	for _, s := range stored {
		for _, c := range m.registry.Load().named[s.Name] {
			until := int64(0)
			if s.Held > 0 {
				until = time.Now().Add(s.Held).UnixNano()
			}
			was := c.held.Swap(until)
			read = was > 0 && until == 0 || read
			if was == 0 && until > 0 {
				m.lookAfter() // the keeper reads again when that is over: whoever holds may have died
			}
			read = c.paused.Swap(s.Paused) && !s.Paused || read
			served := c.version == s.Version
			if c.served.Swap(served) != served {
				read = true
				m.waits.switched()
			}
			for _, p := range c.mappings {
				p.held.Store(until)
				p.paused.Store(s.Paused)
				p.served.Store(served)
			}
			m.tell(c, s.Version)
		}
	}
	return read
}

// tell says once that the fold of a collection makes what is not served.
func (m *Materializer) tell(c *collection, served int) {
	if served == c.version {
		c.told = false
		return
	}
	if !c.told {
		c.told = true
		m.cfg.Logger.Warn().Str("collection", c.name).Int("version", c.version).Int("served", served).
			Msg("another version is served than this fold makes")
	}
}
