package sim

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// world is one simulated run. One goroutine at a time goes on in it, from one yield
// to the next; all others are parked, wait for something, or belong to a process
// that is dead and can touch nothing. The root goroutine decides which.
type world struct {
	c   *choices
	opt options
	// released has the newest version of each collection.
	released released
	started  time.Time
	verbose  bool
	trace    []string
	sum      uint64 // of the trace
	steps    int
	rare     counters

	// mu guards the following field.
	mu     sync.Mutex
	parked []*parking
	// arrived has room for one, and receives when a goroutine parks.
	arrived chan struct{}

	sh      *shared
	procs   []*process // in order of birth; the dead ones are among them
	clients *clients
	late    []lateCall
	idle    map[store.Key]time.Time // and dirty, since when
	// followers live in whatever process, one at a time.
	followers []*follower
	// faults tells that things may go wrong; healed that folds accept everything.
	faults, healed bool
	free           bool // nobody parks any more
	err            error
	alive          atomic.Int64 // goroutines of ours
	kills, cuts    int
	// committed is a document whose commit was stored and has not returned yet, in the
	// process committer: what is appended to it now by others is easily overlooked.
	committed string
	committer *process
}

// place is a goroutine of a process.
type place struct {
	p    *process
	name string
}

type parking struct {
	place
	point string
	goOn  chan struct{}
	// sent is what takes effect at the store even if the process dies now; nil if
	// nothing is on its way.
	sent func()
	// until is the step before which it is held back, held the time.
	until int
	held  time.Time
}

// lateCall is a call of a dead process that is still on its way to the store.
type lateCall struct {
	name string
	at   time.Time
	run  func()
}

type placeKey struct{}

func at(ctx context.Context) (place, bool) {
	pl, ok := ctx.Value(placeKey{}).(place)
	return pl, ok
}

// hook is the yield hook of all worlds: the context tells which one it is.
type hook struct{}

func init() { yield.Enter(hook{}) }

// Name implements [yield.World].
func (hook) Name(ctx context.Context, name string, n int) context.Context {
	pl, ok := at(ctx)
	if !ok {
		return ctx
	}
	return within(ctx, pl.p, fmt.Sprintf("%s/%s%d", pl.name, name, n))
}

// Yield implements [yield.World].
func (hook) Yield(ctx context.Context, point string) {
	if pl, ok := at(ctx); ok {
		pl.p.w.park(pl, point, nil)
	}
}

// Random implements [yield.World]. It has no state, so that what dead processes
// draw does not show; each world begins at another nanosecond.
func (hook) Random(n uint64) uint64 {
	x := uint64(time.Now().UnixNano()) * 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 32
	return x % n
}

func within(ctx context.Context, p *process, name string) context.Context {
	return context.WithValue(ctx, placeKey{}, place{p, name})
}

// park waits until it is the turn of this goroutine. In a dead process it returns
// at once, and so it does when its process dies.
func (w *world) park(pl place, point string, sent func()) {
	if pl.p.dead.Load() {
		return
	}
	k := &parking{place: pl, point: point, goOn: make(chan struct{}), sent: sent}
	w.mu.Lock()
	if w.free {
		w.mu.Unlock()
		return
	}
	w.parked = append(w.parked, k)
	w.mu.Unlock()
	select {
	case w.arrived <- struct{}{}:
	default:
	}
	<-k.goOn
}

// sleep lets time pass for one goroutine.
func (w *world) sleep(pl place, d time.Duration, point string) {
	time.Sleep(d)
	w.park(pl, point, nil)
}

// note puts a step or an effect into the trace.
func (w *world) note(parts ...string) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d", w.sum, time.Since(w.started))
	for _, s := range parts {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	w.sum = h.Sum64()
	if w.verbose {
		w.trace = append(w.trace, fmt.Sprintf("%5d %12v  %s", w.steps, time.Since(w.started), strings.Join(parts, " ")))
	}
}

// fail ends the run. The first reason stays.
func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
		w.note("FAILED:", w.err.Error())
	}
}

// settle waits until nothing moves, and returns who could go on, in order.
func (w *world) settle() []*parking {
	synctest.Wait()
	select {
	case <-w.arrived:
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.parked, func(a, b *parking) int {
		return cmp.Or(cmp.Compare(a.p.id, b.p.id), strings.Compare(a.name, b.name), strings.Compare(a.point, b.point))
	})
	for i := 1; i < len(w.parked); i++ {
		if a, b := w.parked[i-1], w.parked[i]; a.p == b.p && a.name == b.name && a.point == b.point {
			w.fail("two goroutines of %s are called %s and wait at %q: the simulation cannot tell them apart", a.p.name, a.name, a.point)
		}
	}
	return slices.Clone(w.parked)
}

// release lets one goroutine go on.
func (w *world) release(k *parking) {
	w.mu.Lock()
	w.parked = slices.DeleteFunc(w.parked, func(other *parking) bool { return other == k })
	w.mu.Unlock()
	close(k.goOn)
}

// pass lets time pass until somebody parks, at most for d.
func (w *world) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.arrived:
	case <-timer.C:
	}
}

// run simulates until over says so.
func (w *world) run(over func(quiet bool) bool) {
	for w.err == nil {
		able := w.settle()
		w.check()
		if w.err != nil || over(len(able)+len(w.late) == 0) {
			return
		}
		w.steps++
		if w.steps > maxSteps {
			w.fail("after %d steps there is no end", w.steps)
			return
		}
		w.step(able)
	}
}

// step is one decision of the root.
func (w *world) step(able []*parking) {
	if w.faults && w.disaster(able) {
		return
	}
	due, next := 0, time.Minute
	for _, call := range w.late {
		if d := time.Until(call.at); d <= 0 {
			due++
		} else {
			next = min(next, d)
		}
	}
	awake, next := w.awake(able, next)
	able, held := awake, len(able)-len(awake)
	if len(able)+due == 0 {
		if held == 0 {
			w.checkQuiet()
		}
		w.pass(next)
		return
	}
	if w.opt.pauses > 0 && w.faults && w.c.oneIn(w.opt.pauses) {
		d := of(w.c, time.Millisecond, 60*time.Millisecond, 700*time.Millisecond, 1500*time.Millisecond, 4*time.Second)
		w.note("everybody is slow for", d.String())
		time.Sleep(d)
		return
	}
	able = w.stall(able)
	i := w.c.n(len(able) + due)
	if i < len(able) {
		k := able[i]
		w.note(k.p.name, k.name, "goes on:", k.point)
		w.release(k)
		return
	}
	i = slices.IndexFunc(w.late, func(call lateCall) bool { return time.Until(call.at) <= 0 })
	call := w.late[i]
	w.late = slices.Delete(w.late, i, i+1)
	w.note("a call of a dead process arrives:", call.name)
	w.rare.LateCalls++
	call.run()
}

// awake leaves those out that get no processor, and says how long that lasts at the
// least.
func (w *world) awake(able []*parking, next time.Duration) ([]*parking, time.Duration) {
	var awake []*parking
	for _, k := range able {
		if left := max(time.Until(k.p.frozen), time.Until(k.held)); left > 0 {
			next = min(next, left)
		} else {
			awake = append(awake, k)
		}
	}
	return awake, next
}

// living returns the processes that are not dead.
func (w *world) living() []*process {
	var alive []*process
	for _, p := range w.procs {
		if !p.dead.Load() {
			alive = append(alive, p)
		}
	}
	return alive
}

// stall holds a goroutine back for a while, perhaps, and leaves those out that are
// held back, unless nobody else could go on.
func (w *world) stall(able []*parking) []*parking {
	if len(able) == 0 {
		return able
	}
	if w.c.oneIn(w.opt.stalls) {
		able[w.c.n(len(able))].until = w.steps + 5 + w.c.n(40)
	}
	if w.faults && w.c.oneIn(3*w.opt.stalls) {
		k := able[w.c.n(len(able))]
		if i := slices.IndexFunc(able, afterCommit); i >= 0 { // stored, and not yet given back
			k = able[i]
			w.committed, _, _ = strings.Cut(strings.TrimPrefix(k.point, "after commit of "), "+")
			w.committer = k.p
		}
		k.held = time.Now().Add(of(w.c, 1200*time.Millisecond, 120*time.Millisecond, 400*time.Millisecond))
	}
	if w.faults && w.opt.derived { // what has been read may change before what is made of it is stored
		if i := slices.IndexFunc(able, func(k *parking) bool { return strings.HasPrefix(k.point, "before commit of cards@") }); i >= 0 && w.c.oneIn(4) {
			able[i].held = time.Now().Add(of(w.c, 50*time.Millisecond, 400*time.Millisecond))
		}
	}
	free := slices.DeleteFunc(slices.Clone(able), func(k *parking) bool { return k.until > w.steps })
	if len(free) == 0 {
		return able
	}
	return free
}

func afterCommit(k *parking) bool { return strings.HasPrefix(k.point, "after commit") }

func (w *world) keys() []store.Key {
	keys := make([]store.Key, w.opt.docs)
	for i := range keys {
		keys[i] = store.Key{Collection: collection, ID: fmt.Sprintf("d%d", i)}
	}
	return keys
}
