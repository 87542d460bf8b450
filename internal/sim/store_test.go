package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

// The errors of the simulated world.
var (
	errDead     = errors.New("sim: the process is dead")
	errInjected = errors.New("sim: the store cannot read this")
)

// announcing is the point between the store and its announcement.
const announcing = "is about to announce"

// shared is the store of all processes, with what outlives them.
type shared struct {
	w     *world
	open  func() store.Backend
	inner store.Backend
	// of is the incarnation that inner has, outside that of the tokens given out: a
	// power cut makes another inner store.
	of, outside store.Incarnation
	model       *model
	touched     map[store.Key]bool
	told        map[told]int64

	// journal has every write since the beginning. What comes after synced may be
	// taken by a power cut.
	journal []func(store.Backend) error
	synced  int

	// working has the processes that have a claim, in order of that; one at the most
	// if the store is not shared. unclean is the mark that a claim leaves.
	working []*process
	unclean bool
	holders int // names that were given to claims
	// overtaken has the documents that a dead process committed when its claim may
	// have been taken over, if the store is not shared. No system does so to a process
	// that is really dead, and the lane of suspects relies on it; the guard of commits
	// does not.
	overtaken map[string]bool
	stopped   bool // the last claim was given up, and not ended by a kill
	handles   []*handle

	// writing is the handle whose call inner is in, pending what its effect is in
	// the model, and mute tells that it announces nothing.
	writing *handle
	ctx     context.Context
	pending func()
	mute    bool
	news    news
	// ending orders what a call does last, when its goroutine ends with its process, before what the
	// next call does first: for the race detector the end of a goroutine comes before nothing.
	ending sync.Mutex
	by     *handle // who need not be told; nil if nobody announces it
}

func newShared(w *world, open func() store.Backend) *shared {
	sh := &shared{w: w, open: open, model: newModel(), touched: make(map[store.Key]bool), told: make(map[told]int64), overtaken: make(map[string]bool), outside: 0x51}
	sh.reopen()
	return sh
}

func (sh *shared) reopen() {
	sh.inner, sh.of = sh.open(), 0
	if sh.w.opt.derived {
		sh.inner.Listen(sh.gather())
		return
	}
	sh.inner.Listen(store.Listener{
		Dirty:     func(keys []store.Key) { sh.announced(keys, (*store.Listeners).Dirty) },
		Committed: func(keys []store.Key) { sh.announced(keys, (*store.Listeners).Committed) },
	})
}

// announced is called by the store, in the goroutine that wrote.
func (sh *shared) announced(keys []store.Key, pass func(*store.Listeners, []store.Key)) {
	sh.effect()
	h, ctx := sh.writing, sh.ctx
	if sh.mute || h == nil {
		return
	}
	keys = slices.Clone(keys)
	h.p.w.park(h.place(ctx, ""), announcing, nil)
	if !h.p.dead.Load() {
		pass(&h.listeners, keys)
	}
}

// effect makes the model what the store is now.
func (sh *shared) effect() {
	if do := sh.pending; do != nil {
		sh.pending = nil
		do()
		sh.foreigner(sh.by)
	}
}

// touch says that a document is to be checked.
func (sh *shared) touch(k store.Key) { sh.touched[sh.model.doc(k).key] = true }

// log journals a write that has taken effect.
func (sh *shared) log(synced bool, again func(store.Backend) error) {
	sh.journal = append(sh.journal, again)
	if synced {
		sh.synced = len(sh.journal)
	}
}

// works reports whether the process has a claim.
func (sh *shared) works(p *process) bool { return slices.Contains(sh.working, p) }

// leaves takes the claim away from a process that has one.
func (sh *shared) leaves(p *process) {
	sh.working = slices.DeleteFunc(sh.working, func(other *process) bool { return other == p })
}

// buried gives back what the dead process had.
func (sh *shared) buried(p *process) {
	if sh.works(p) {
		sh.leaves(p)
		sh.stopped = false
	}
}

// cut replaces the store by one that has lost a suffix of what was not synced.
func (sh *shared) cut() {
	keep := sh.synced + sh.w.c.n(len(sh.journal)-sh.synced+1)
	if keep == sh.synced && len(sh.journal) > sh.synced {
		keep = sh.synced // the plainest choice loses all of it
	}
	sh.journal = sh.journal[:keep]
	sh.synced = keep
	old := sh.inner
	last := sh.lastChange()
	sh.writing, sh.mute, sh.pending = nil, true, nil
	sh.reopen()
	sh.of = 0
	for _, c := range sh.model.collections {
		clear(c.unfilled)
		for _, version := range c.beside {
			c.unfilled[version] = true
		}
	}
	for i, again := range sh.journal {
		if err := again(sh.inner); err != nil {
			sh.w.fail("journal entry %d after a power cut: %v", i, err)
			return
		}
	}
	old.Close()
	sh.goBeyond(last)
	sh.afterCut()
	for k, d := range sh.model.docs {
		doc := sh.load(k)
		if doc.Applied < d.applied {
			sh.w.rare.ViewsLost++
			d.changed = 0 // it is dirty, and there will be a change
		}
		d.applied, d.epoch = doc.Applied, doc.Epoch
		d.lease = modelLease{holder: doc.Lease.Holder, until: time.Now().Add(doc.Lease.Left)}
		if d.made || d.version > 1 {
			d.exists, d.told, d.round, d.parked = doc.Head > 0, doc.Head, doc.Round, doc.Parked()
		}
		sh.touch(k)
	}
	sh.w.followersCut()
	sh.w.note("after the power cut", fmt.Sprint(len(sh.journal)))
}

// load reads a document as the root does, past all processes.
func (sh *shared) load(k store.Key) store.Document {
	docs, err := sh.inner.Load(context.Background(), []store.Key{k}, store.WithViews)
	if err != nil {
		sh.w.fail("loading %s: %v", k, err)
		return store.Document{}
	}
	return docs[0]
}

// handle is a process's way to the store.
type handle struct {
	store.Backend // what is not overridden is not called
	p             *process
	sh            *shared
	listeners     store.Listeners
	// foreign counts what became dirty without this handle saying so; changed is
	// closed at the next.
	foreign  uint64
	followed uint64
	changed  chan struct{}
	// trouble is when a call failed last.
	trouble time.Time
	delayed int // calls that take their time
	reads   int // of the runnable documents by the feed
	// unsure tells that a call about a lease failed: it may have some that it does not
	// know of.
	unsure bool
	// paused is what the process knows of its collection. asking tells that an operator
	// in it is about to learn it.
	paused, asking bool
}

var _ store.Backend = (*handle)(nil)

func (sh *shared) handle(p *process) *handle {
	h := &handle{p: p, sh: sh, foreign: 1, changed: make(chan struct{}), trouble: time.Unix(0, 0)}
	sh.handles = append(sh.handles, h)
	return h
}

// place is that of the goroutine, or, for a call without its context, one that is
// named after the call.
func (h *handle) place(ctx context.Context, call string) place {
	if pl, ok := at(ctx); ok {
		return pl
	}
	return place{h.p, "?" + call}
}

// rootKey marks the context of the root, which passes through everything.
type rootKey struct{}

func isRoot(ctx context.Context) bool { return ctx.Value(rootKey{}) != nil }

// enter is the way into a call.
func (h *handle) enter(ctx context.Context, call string, sent func()) (place, error) {
	pl := h.place(ctx, call)
	w := h.p.w
	if !h.p.dead.Load() && w.faults && w.c.oneIn(w.opt.delays) {
		d := of(w.c, time.Millisecond, 80*time.Millisecond, time.Second, 6*time.Second)
		h.delay(pl, d, "was delayed before "+call)
	}
	w.park(pl, "before "+call, sent)
	if h.p.dead.Load() {
		return pl, errDead
	}
	return pl, nil
}

// leave is the way out of it.
func (h *handle) leave(pl place, call string) error {
	w := h.p.w
	if !h.p.dead.Load() && w.faults && w.c.oneIn(w.opt.delays) {
		h.delay(pl, of(w.c, time.Millisecond, 80*time.Millisecond, time.Second), "was delayed after "+call)
	}
	w.park(pl, "after "+call, nil)
	if h.p.dead.Load() {
		return errDead
	}
	return nil
}

// delay lets a call take its time.
func (h *handle) delay(pl place, d time.Duration, point string) {
	h.delayed++
	h.p.w.sleep(pl, d, point)
	if !h.p.dead.Load() {
		h.delayed--
	}
}

// ended is how a context ends a call.
func ended(ctx context.Context, write bool) error {
	cause := context.Cause(ctx)
	if cause != nil && write {
		return fmt.Errorf("%w: %w", store.ErrBusy, cause)
	}
	return cause
}

// read is a call that reads.
func (h *handle) read(ctx context.Context, call string, f func() error) error {
	if isRoot(ctx) {
		return f()
	}
	pl, err := h.enter(ctx, call, nil)
	if err != nil {
		return err
	}
	w := h.p.w
	if err := ended(ctx, false); err != nil {
		return err
	}
	if w.faults && w.c.oneIn(w.opt.unreadable) {
		h.trouble = time.Now()
		w.rare.FailReads++
		w.note(pl.name, "cannot read:", call)
		err = fmt.Errorf("%w: %s", errInjected, call)
	} else {
		err = f()
	}
	if dead := h.leave(pl, call); dead != nil {
		return dead
	}
	return err
}

// write is a call that writes: do calls the store and says what changed.
func (h *handle) write(ctx context.Context, call string, do func(late bool) error) error {
	run := func(mute, late bool) error {
		h.sh.ending.Lock()
		h.sh.writing, h.sh.ctx, h.sh.mute, h.sh.news, h.sh.by = h, ctx, mute, news{}, h
		if mute {
			h.sh.by = nil
		}
		h.sh.ending.Unlock()
		return do(late)
	}
	pl, err := h.enter(ctx, call, func() { run(true, true) })
	if err != nil {
		return err
	}
	w := h.p.w
	if err := ended(ctx, true); err != nil {
		return err
	}
	switch {
	case w.faults && w.c.oneIn(w.opt.refused):
		h.trouble = time.Now()
		w.rare.Refused++
		err = fmt.Errorf("%w: %w", of(w.c, store.ErrBusy, store.ErrFull), errInjected)
		w.note(pl.name, "is refused:", call)
	case w.faults && w.c.oneIn(w.opt.doubt):
		h.trouble = time.Now()
		if w.c.oneIn(2) {
			err = run(true, false)
			w.note(pl.name, "is in doubt, and it is stored:", call, fmt.Sprint(err))
			w.rare.DoubtStored++
		} else {
			w.rare.DoubtNotStored++
			w.note(pl.name, "is in doubt, and it is not stored:", call)
		}
		err = fmt.Errorf("%w: %w", store.ErrInDoubt, errInjected)
	default:
		err = run(false, false)
		h.tell(pl)
	}
	if dead := h.leave(pl, call); dead != nil {
		return dead
	}
	return err
}

// foreigner tells all handles but one that something was written.
func (sh *shared) foreigner(by *handle) {
	for _, h := range sh.handles {
		if h != by && !h.p.dead.Load() {
			h.foreign++
			close(h.changed)
			h.changed = make(chan struct{})
		}
	}
}

func (h *handle) Listen(l store.Listener) (stop func()) { return h.listeners.Listen(l) }

func (h *handle) Close() error { return nil }

// Follow implements [store.Follower].
func (h *handle) Follow(ctx context.Context, after uint64) (uint64, error) {
	pl, err := h.enter(ctx, "follow", nil)
	for err == nil {
		if err = ended(ctx, false); err != nil {
			break
		}
		if after != h.foreign {
			if strings.HasSuffix(pl.name, "/follow0") { // not a reader, but Run
				h.followed = h.foreign
			}
			return h.foreign, h.leave(pl, "follow")
		}
		changed := h.changed
		select {
		case <-changed:
			// Noticing takes a moment, which is no choice: nobody is alone here.
			time.Sleep(time.Duration(1+h.foreign*37%9) * 100 * time.Millisecond)
		case <-ctx.Done():
		}
		h.p.w.park(pl, "woken to follow", nil)
		if h.p.dead.Load() {
			err = errDead
		}
	}
	return after, err
}
