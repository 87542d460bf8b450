package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/rs/zerolog"
)

// entry is an operation of a simulated document.
type entry struct {
	V      int  `json:"v"`
	Poison bool `json:"poison,omitempty"`
	Delete bool `json:"delete,omitempty"`
}

// process is one process of the application: a materializer over its own handle of
// the store, appenders and readers.
type process struct {
	w    *world
	id   int
	name string
	dead atomic.Bool

	ctx    context.Context // of all that it does
	cancel context.CancelFunc
	runs   context.Context // of its Run
	stop   context.CancelFunc

	h    *handle
	m    *materializer.Materializer
	docs *materializer.Collection[state, entry]
	// derived has the derived collections, code the versions of all that are registered.
	derived map[string]*materializer.Derived[whole]
	code    released
	// up tells that m and docs are there, stopping that Run was told to stop,
	// returned that it did.
	up, stopping, returned bool
	folding                map[string]bool
	// granted has the leases that were given to it and that it has not given back.
	granted map[string][]*granted
	// resting tells that it has nothing to do and knows that its collection is paused.
	resting bool
	// left tells that its Run is not called any more: nobody follows in it then.
	left    atomic.Bool
	follows context.Context
	leave   context.CancelFunc
	// frozen is until when the system has stopped it.
	frozen time.Time
}

// bornAfter makes a process that begins after a while.
func (w *world) bornAfter(d time.Duration) *process {
	p := &process{w: w, id: len(w.procs) + 1, folding: make(map[string]bool), granted: make(map[string][]*granted), derived: make(map[string]*materializer.Derived[whole])}
	p.code = w.program()
	p.name = fmt.Sprintf("p%02d", p.id)
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.runs, p.stop = context.WithCancel(p.ctx)
	p.follows, p.leave = context.WithCancel(p.ctx)
	p.h = w.sh.handle(p)
	w.procs = append(w.procs, p)
	p.spawn("boot", func(ctx context.Context, pl place) {
		w.sleep(pl, d, "is born")
		if !p.dead.Load() {
			p.boot(pl)
		}
	})
	return p
}

// spawn starts a goroutine of ours in the process.
func (p *process) spawn(name string, f func(ctx context.Context, pl place)) {
	p.w.alive.Add(1)
	go func() {
		defer p.w.alive.Add(-1)
		f(within(p.ctx, p, name), place{p, name})
	}()
}

func (p *process) boot(pl place) {
	w, o := p.w, p.w.opt
	var err error
	p.m, err = materializer.New(p.h, materializer.Config{
		Logger:  zerolog.New(discard{}).Level(zerolog.DebugLevel).Hook(listener{p}),
		Workers: o.workers, Queue: o.queue, Batch: o.batch, Bytes: o.bytes, Grace: o.grace, Announcements: o.announcements,
		Shared: o.shared, Lease: o.lease,
	})
	if err != nil {
		w.fail("making a materializer: %v", err)
		return
	}
	for _, name := range append([]string{collection}, o.kinds...) {
		for p.code[name] > 0 {
			if err := p.register(name); err == nil {
				break
			} else if errors.Is(err, store.ErrVersion) && p.code[name] < w.released[name] {
				w.note(p.name, "is too old for", name)
				p.code[name] = w.released[name]
				w.rare.TooOld++
				continue
			} else if !errors.Is(err, errInjected) && !errors.Is(err, context.DeadlineExceeded) && !p.dead.Load() {
				w.fail("%s registers %s: %v", p.name, name, err)
				return
			}
			w.sleep(pl, 200*time.Millisecond, "registers again")
			if p.dead.Load() {
				return
			}
		}
	}
	p.up = true
	p.spawn("run", p.run)
	p.spawn("appender1", w.clients.append)
	if w.c.oneIn(2) {
		p.spawn("appender2", w.clients.append)
	}
	for i := range w.opt.readers {
		p.spawn(fmt.Sprintf("reader%d", i+1), w.clients.read)
	}
	if o.operators && w.c.oneIn(2) {
		p.spawn("operator", w.clients.operate)
	}
	w.hostAgain()
}

// register adds a collection to the materializer.
func (p *process) register(name string) (err error) {
	o, version := p.w.opt, p.code[name]
	if name != collection {
		return p.derive(name, version)
	}
	p.docs, err = materializer.Register(p.m, materializer.Spec[state, entry]{
		Name: collection, Version: version, Fold: p.fold(version), MinInterval: o.interval, KeepFor: o.keepFor,
		Retry: materializer.Retry{Attempts: o.attempts, First: o.backoff, Cap: 2 * time.Second},
	})
	return err
}

// run calls Run until it may not be called again.
func (p *process) run(_ context.Context, pl place) {
	w := p.w
	ctx := within(p.runs, p, pl.name)
	defer func() {
		if !p.dead.Load() && !p.returned {
			p.left.Store(true)
			p.leave()
		}
	}()
	for {
		w.park(pl, "calls Run", nil)
		err := p.m.Run(ctx)
		if p.dead.Load() {
			return
		}
		stuck, given := errors.AsType[*materializer.StuckError](err)
		if err == nil || given {
			p.returned = true
			if given {
				w.rare.Stuck += len(stuck.Documents)
			} else {
				w.checkGivenBack(p)
			}
		}
		w.note(p.name, "Run has returned:", fmt.Sprint(err))
		w.park(pl, "Run has returned", nil)
		if p.dead.Load() {
			return
		}
		switch {
		case p.returned && !p.stopping:
			w.fail("%s Run has returned by itself: %v", p.name, err)
			return
		case p.returned || p.stopping:
			return
		case !errors.Is(err, materializer.ErrClaimed) && !errors.Is(err, errInjected):
			w.fail("%s Run says %v", p.name, err)
			return
		}
		w.sleep(pl, 400*time.Millisecond, "tries again to run")
		if p.dead.Load() || p.stopping {
			return
		}
	}
}

// account counts what the process did, when it ends.
func (p *process) account() {
	if !p.up {
		return
	}
	s := p.m.Stats()
	p.w.rare.Requeues += int(s.Requeues)
	p.w.rare.Absorbed += int(s.Absorbed)
	p.w.rare.LeasesLost += int(s.Lost)
	p.w.rare.LeftBehind += int(s.LeftBehind)
	if s.Overlooked > 0 {
		p.w.fail("%s overlooked %d documents", p.name, s.Overlooked)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// listener counts what the engine says of itself.
type listener struct{ p *process }

// Run implements [zerolog.Hook].
func (l listener) Run(_ *zerolog.Event, _ zerolog.Level, message string) {
	w := l.p.w
	if l.p.dead.Load() {
		return
	}
	switch {
	case strings.HasPrefix(message, "fell behind the bus"):
		w.rare.Lagged++
	case strings.HasPrefix(message, "a fold takes long"):
		w.rare.Seized++
	case strings.HasPrefix(message, "it is parked in this version only"):
		return // of which document it is told first is up to the backend
	case strings.HasPrefix(message, "a document was dirty and nobody worked on it"):
		w.fail("%s: %s", l.p.name, message)
	}
	w.note(l.p.name, "says:", message)
}

// key names a document of the simulation.
func key(id string) store.Key { return store.Key{Collection: collection, ID: id} }
