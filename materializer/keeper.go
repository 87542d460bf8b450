package materializer

import (
	"context"
	"errors"
	"time"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// keeper looks after the generations of the registered collections: it makes the rows of
// those whose folds are here, switches to one that is built, drops what was kept long
// enough and sweeps up. It works on names, whatever their folds are. All that it does is
// durable in the store as it does it, so that it can end anywhere and begin again.
type keeper struct {
	*engine
	// aside starts some workers of generations that are not served, which work until over is
	// closed; begun tells that the first ones were started, and extra ends those for whom there are
	// more of late.
	aside  func(workers int, over <-chan struct{})
	begun  bool
	extra  chan struct{}
	builds map[string]*build
	told   map[string]bool      // own generations of which it was said that they are gone
	rests  map[string]time.Time // until when a collection is left alone, after an error
}

// build is what is remembered of a generation that is being built.
type build struct {
	behind   int       // how often in a row a document was behind
	held     time.Time // when what is served was last held for it
	obstacle store.Key // the parked document of which was told
	// least is the fewest documents that were dirty since more was given to it, and age the least
	// that the oldest of them had waited. at is when one of the two was less than before, and told is
	// set when it was said that this was long ago.
	least int64
	age   time.Duration
	at    time.Time
	told  bool
	// step is how much is given to it, see effort, and raise when the next one may be taken.
	step  int
	raise time.Time
}

const (
	// lookBuild is how often a generation that is built is looked at, and lookBehind
	// that is nearly there.
	lookBuild  = time.Second
	lookBehind = 50 * time.Millisecond
	// patienceBehind is how often a document may be behind until what is served is held
	// for a moment, holdFor is for how long at the most, and holdEvery how often.
	patienceBehind = 5
	holdFor        = time.Second
	holdEvery      = 5 * time.Second
	// lookHeld is how often it is looked at meanwhile.
	lookHeld = 5 * time.Millisecond
	// leastRest and mostRest are the bounds of how long it waits between two slices of
	// rows: as long as the one before took.
	leastRest, mostRest = time.Millisecond, 100 * time.Millisecond
	// restFailed is how long a collection is left alone after an error of the store.
	restFailed = time.Second
	// stalled is for how long a generation may not come nearer to what is served until that
	// is told.
	stalled = time.Minute
)

func newKeeper(e *engine, aside func(workers int, over <-chan struct{})) *keeper {
	return &keeper{engine: e, aside: aside, builds: make(map[string]*build), told: make(map[string]bool), rests: make(map[string]time.Time)}
}

// keep returns when ctx has ended.
func (k *keeper) keep(ctx context.Context) error {
	timer := time.NewTimer(restFailed)
	defer timer.Stop()
	for {
		yield.At(ctx, "woken to keep")
		if ctx.Err() != nil {
			return nil
		}
		wait, err := k.look(ctx)
		if err != nil && ctx.Err() == nil {
			if errors.Is(err, store.ErrClosed) {
				k.fail(err)
			}
			k.cfg.Logger.Warn().Err(err).Msg("cannot look after the generations")
			wait = sooner(wait, restFailed)
		}
		timer.Stop()
		if wait > 0 {
			timer.Reset(wait)
		}
		select {
		case <-ctx.Done():
		case <-k.wake:
		case <-timer.C:
		}
	}
}

// lookAfter has the keeper look.
func (m *Materializer) lookAfter() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// heardOfSwitch is called when another generation of a collection is served: who waits
// for its documents looks at others now.
func (m *Materializer) heardOfSwitch(string) {
	m.waits.switched()
	m.waits.notifyAll()
	m.lookAfter()
}

// look does the next piece of all that is to be done, and returns how long to wait for
// the one after it, 0 if there is none.
func (k *keeper) look(ctx context.Context) (wait time.Duration, err error) {
	if err := k.refresh(ctx); err != nil {
		return 0, err
	}
	if !k.begun && len(k.notServed()) > 0 {
		k.begun = true
		k.aside(k.cfg.asideWorkers(), nil)
	}
	var errs []error
	for _, name := range k.names() {
		d := time.Until(k.rests[name])
		if d <= 0 {
			var err error
			if d, err = k.lookAt(ctx, name); err != nil {
				if ctx.Err() != nil {
					return 0, err
				}
				d = restFailed
				k.rests[name], errs = time.Now().Add(d), append(errs, err)
			}
		}
		wait = sooner(wait, d)
	}
	k.exertForAll()
	return sooner(wait, k.heldFor()), errors.Join(errs...)
}

// heldFor returns for how long the collection is held whose hold runs out first, 0 if none is.
// Nobody may be there any more to say when that is over.
func (k *keeper) heldFor() (d time.Duration) {
	for _, own := range k.registry.Load().named {
		for _, c := range own {
			if until := c.held.Load(); until > 0 {
				d = sooner(d, max(time.Until(time.Unix(0, until)), leastRest))
			}
		}
	}
	return d
}

// lookAt is look for the generations of one collection. An error about one of them is nothing to
// the others.
func (k *keeper) lookAt(ctx context.Context, name string) (wait time.Duration, err error) {
	all, err := k.st.Generations(ctx, name)
	if err != nil {
		return 0, err
	}
	lives, sweep := make(map[string]bool), false
	var errs []error
	for i := range all {
		g := &all[i]
		if g.State == store.Dropping {
			sweep = true
			continue
		}
		own := store.CollectionName{Name: name, Version: g.Version}.String()
		lives[own] = true
		d, err := k.tend(ctx, own, g)
		if errors.Is(err, store.ErrNotFound) {
			d, err = leastRest, nil // it was dropped meanwhile
		}
		wait, errs = sooner(wait, d), append(errs, err)
	}
	for own := range k.builds {
		if store.BareName(own) == name && !lives[own] {
			delete(k.builds, own)
		}
	}
	k.tellGone(name, lives)
	if sweep {
		d, err := k.sweepSome(ctx)
		wait, errs = sooner(wait, d), append(errs, err)
	}
	return wait, errors.Join(errs...)
}

// tend does what is to be done about one generation.
func (k *keeper) tend(ctx context.Context, own string, g *store.Generation) (wait time.Duration, err error) {
	left := time.Duration(0)
	if g.State == store.Kept && !g.Until.IsZero() {
		if left = time.Until(g.Until); left <= 0 {
			return k.retire(ctx, own)
		}
	}
	c := k.collection(own)
	if c == nil {
		return left, nil
	}
	if !g.Filled {
		delete(k.builds, own)
		wait, err = k.fillSome(ctx, own)
		return sooner(wait, left), err
	}
	if g.State == store.Building {
		return k.tryToSwitch(ctx, c)
	}
	delete(k.builds, own)
	return left, nil
}

// retire drops a generation that was kept for its time.
func (k *keeper) retire(ctx context.Context, own string) (wait time.Duration, err error) {
	if err := k.st.Retire(ctx, own); err != nil {
		return 0, err
	}
	k.cfg.Logger.Info().Str("generation", own).Msg("dropped: it was kept for as long as it was to be")
	return leastRest, nil
}

// sooner returns the shorter one of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// fillSome makes some rows of a generation.
func (k *keeper) fillSome(ctx context.Context, own string) (wait time.Duration, err error) {
	began := time.Now()
	if _, err := k.st.Fill(ctx, own); err != nil {
		return 0, err
	}
	k.lookAside()
	if c := k.collection(own); c != nil && c.served.Load() {
		k.table.Reread()
	}
	return rested(began), nil
}

// sweepSome removes some rows of generations that are being dropped.
func (k *keeper) sweepSome(ctx context.Context) (wait time.Duration, err error) {
	began := time.Now()
	_, err = k.st.Sweep(ctx)
	return rested(began), err
}

// rested is how long to wait after a slice that began then.
func rested(began time.Time) time.Duration {
	return min(max(time.Since(began), leastRest), mostRest)
}

// tellGone says once that the generation of a fold is not there any more. Its documents
// are gone for runs, and reading goes on.
func (k *keeper) tellGone(name string, lives map[string]bool) {
	for _, c := range k.registry.Load().named[name] {
		if !lives[c.own] && !k.told[c.own] {
			k.cfg.Logger.Warn().Str("collection", c.name).Int("version", c.version).
				Msg("the generation of this fold was dropped: nothing is folded by it any more")
		}
		k.told[c.own] = !lives[c.own]
	}
}
