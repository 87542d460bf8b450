package materializer

import (
	"context"
	"time"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// tryToSwitch serves a generation that has all its rows, if it has caught up.
func (k *keeper) tryToSwitch(ctx context.Context, c *collection) (wait time.Duration, err error) {
	n, err := k.st.Count(ctx, c.own)
	if err != nil {
		return 0, err
	}
	k.progress.observe(c.own, n.Dirty, time.Now())
	if n.Dirty > store.MaxDirty {
		return lookBuild, nil
	}
	b := k.builds[c.own]
	if b == nil {
		b = &build{}
		k.builds[c.own] = b
	}
	o, err := k.serve(ctx, c, false)
	if err != nil {
		return 0, err
	}
	switch o.Why {
	case store.Unhindered:
		return leastRest, nil
	case store.ParkedBehind:
		b.behind = 0
		k.tellParked(b, c, o.Document)
		return lookBuild, nil
	case store.Behind, store.TooDirty:
	default:
		return leastRest, nil
	}
	if b.behind++; b.behind < patienceBehind || !b.held.IsZero() && time.Since(b.held) < holdEvery {
		return lookBehind, nil
	}
	b.held = time.Now()
	return lookBehind, k.holdAndSwitch(ctx, c)
}

// serve is a switch to the generation of a collection.
func (m *Materializer) serve(ctx context.Context, c *collection, force bool) (store.Obstacle, error) {
	o, err := m.st.Switch(ctx, c.own, store.SwitchTerms{Force: force, Keep: c.keepFor})
	if err != nil || o.Why != store.Unhindered {
		return o, err
	}
	m.cfg.Logger.Info().Str("collection", c.name).Int("version", c.version).Msg("this version is served now")
	m.progress.forget(c.own)
	m.lookAfter()
	return o, m.refresh(context.WithoutCancel(ctx))
}

// holdAndSwitch keeps what is served from being run for a moment, so that the generation
// beside it catches up with documents that change all the time.
func (k *keeper) holdAndSwitch(ctx context.Context, c *collection) error {
	if err := k.st.Hold(ctx, c.name, holdFor); err != nil {
		return err
	}
	k.urgent.Store(true)
	defer k.urgent.Store(false)
	err := k.refresh(ctx)
	until := time.Now().Add(holdFor - lookHeld)
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for err == nil && ctx.Err() == nil && time.Now().Before(until) {
		k.lookAside()
		timer.Reset(lookHeld)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		yield.At(ctx, "woken while it is held")
		var o store.Obstacle
		if o, err = k.serve(ctx, c, false); err == nil && o.Why != store.Behind && o.Why != store.TooDirty {
			break
		}
	}
	// The switch has ended it; otherwise it would end by itself, and nobody be told.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), time.Second, ErrGraceOver)
	defer cancel()
	if err2 := k.st.Hold(ctx, c.name, 0); err == nil {
		err = err2
	}
	if err2 := k.refresh(ctx); err == nil {
		err = err2
	}
	return err
}

// tellParked says, once for each, that a document holds back the switch.
func (k *keeper) tellParked(b *build, c *collection, document store.Key) {
	if b.obstacle == document {
		return
	}
	b.obstacle = document
	k.cfg.Logger.Error().Str("collection", c.name).Int("version", c.version).Str("document", document.ID).
		Msg("it is parked in this version only, and holds back the switch: mend the fold and resume it, or switch by force")
}
