package materializer

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// tryToSwitch serves a generation that has all its rows, if it has caught up.
func (k *keeper) tryToSwitch(ctx context.Context, c *collection) (wait time.Duration, err error) {
	n, err := k.countOwn(ctx, c.own, c)
	if err != nil {
		return 0, err
	}
	k.progress.observe(c.own, n.Dirty, time.Now())
	b := k.builds[c.own]
	if b == nil {
		b = &build{least: math.MaxInt64, age: math.MaxInt64}
		k.builds[c.own] = b
	}
	if n.Dirty > store.MaxDirty {
		k.seeTo(b, c, n)
		return lookBuild, nil
	}
	o, err := k.serve(ctx, c, store.SwitchTerms{New: true})
	if err == nil && o.Why == store.ParkedBehind {
		var first bool
		if first, err = k.servesNothing(ctx, c.name); first {
			o, err = k.serve(ctx, c, store.SwitchTerms{New: true, Force: true})
		}
	}
	if err != nil {
		return 0, err
	}
	switch o.Why {
	case store.Unhindered:
		return leastRest, nil
	case store.ParkedBehind:
		b.ease()
		k.tellParked(b, c, o.Document)
		return lookBuild, nil
	case store.Behind, store.TooDirty:
	default:
		return leastRest, nil
	}
	k.seeTo(b, c, n)
	if time.Now().UnixNano() < c.held.Load() {
		return lookBehind, nil // another process holds it, and ends that
	}
	if b.behind++; b.behind < patienceBehind || !b.held.IsZero() && time.Since(b.held) < holdEvery {
		return lookBehind, nil
	}
	b.held = time.Now()
	return lookBehind, k.holdAndSwitch(ctx, c)
}

// ease gives no more to a generation than its share, for it has caught up but for what is parked: that
// lasts until somebody mends it.
func (b *build) ease() {
	b.behind, b.step, b.least, b.age = 0, 0, math.MaxInt64, math.MaxInt64
}

// servesNothing reports whether a derived collection has nothing to serve yet, so that its first
// generation cannot be worse for a document that is parked in it.
func (m *Materializer) servesNothing(ctx context.Context, name string) (bool, error) {
	if derived, err := m.derived(ctx, name); !derived || err != nil {
		return false, err
	}
	all, err := m.st.Generations(ctx, name)
	for _, g := range all {
		if g.State == store.Serving {
			return g.Version == 0, err
		}
	}
	return false, err
}

// serve is a switch to the generation of a collection; how long the other one is kept, the
// collection says.
func (m *Materializer) serve(ctx context.Context, c *collection, terms store.SwitchTerms) (store.Obstacle, error) {
	terms.Keep = c.keepFor
	o, err := m.st.Switch(ctx, c.own, terms)
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
	mine, err := k.st.Hold(ctx, c.name, time.Time{}, holdFor)
	if err != nil { // it may be held
		return errors.Join(err, k.refresh(ctx))
	}
	if mine.IsZero() { // another process was faster, and ends that
		return k.refresh(ctx)
	}
	k.urgent.Store(true)
	defer k.urgent.Store(false)
	err = k.refresh(ctx)
	until := time.Now().Add(holdFor - lookHeld)
	timer := time.NewTimer(lookHeld)
	defer timer.Stop()
	for err == nil && ctx.Err() == nil && time.Now().Before(until) {
		k.lookAside()
		timer.Reset(lookHeld)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		yield.At(ctx, "woken while it is held")
		var o store.Obstacle
		if o, err = k.serve(ctx, c, store.SwitchTerms{New: true}); err == nil && o.Why != store.Behind && o.Why != store.TooDirty {
			break
		}
	}
	// The switch has ended it, or it ends here; by itself nobody would be told of that. What another
	// process holds meanwhile is that one's.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), time.Second, ErrGraceOver)
	defer cancel()
	if _, err2 := k.st.Hold(ctx, c.name, mine, 0); err == nil {
		err = err2
	}
	if err2 := k.refresh(ctx); err == nil {
		err = err2
	}
	return err
}

// seeTo gives more to a generation that comes no nearer to what is served, and says, once until there
// is progress, that nothing helps. What is paused, or has only documents that wait after a failure, would
// not be helped.
func (k *keeper) seeTo(b *build, c *collection, n store.Counts) {
	now := time.Now()
	age := max(now.Sub(n.Oldest.Since.Time), 0)
	switch {
	case n.Dirty < b.least || age < b.age-b.age/100:
		b.least, b.age = min(n.Dirty, b.least), min(age, b.age)
		b.at, b.raise, b.told = now, now.Add(raiseAfter), false
		return
	case c.paused.Load() || n.Dirty == n.Waiting:
		b.step, b.at, b.raise = 0, now, now.Add(raiseAfter)
		return
	}
	most := k.cfg.effort(b.step+1) == k.cfg.effort(b.step)
	if !most && !now.Before(b.raise) {
		b.step++
		b.least, b.age, b.raise = n.Dirty, age, now.Add(raiseAfter)
		f := k.cfg.effort(b.step)
		k.cfg.Logger.Info().Str("collection", c.name).Int("version", c.version).Int64("dirty", n.Dirty).Dur("age", age).
			Int("workers", f.workers).Bool("urgent", f.unrested).Msg("this version does not keep up, and is given more")
	}
	if !most || now.Before(b.raise.Add(stalled)) {
		return
	}
	b.step, b.raise = k.cfg.restless(), now.Add(easeFor)
	if !b.told {
		b.told = true
		k.cfg.Logger.Warn().Str("collection", c.name).Int("version", c.version).Int64("dirty", n.Dirty).Dur("for", now.Sub(b.at)).
			Msg("this version does not catch up with what is appended, and is not served: give it more workers, or a faster fold")
	}
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
