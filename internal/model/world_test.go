package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// table is the part of dispatcher.Table that the world uses.
type table interface {
	Signal(k store.Key) bool
	Delay(k store.Key, due time.Time)
	Take(ctx context.Context, buf []dispatcher.Ticket) (int, error)
	Done(tickets []dispatcher.Ticket, results []dispatcher.Result, requeued func(store.Key, int)) int
	Wake(now time.Time) time.Time
	Reread()
	BeginRead() bool
	Woken() <-chan struct{}
	State(k store.Key) dispatcher.State
	Counts() dispatcher.Counts
}

var (
	_ table = (*dispatcher.Table)(nil)
	_ table = (*toy)(nil)

	keys  = []store.Key{{Collection: "notes", ID: "0"}, {Collection: "notes", ID: "1"}}
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// world is one process with its store. Its goroutines are actors, which take one
// step at a time: what the model does in one step.
type world struct {
	mutant string
	toy    *toy // nil if the table is the real one
	limit  int
	slice  int // most operations of one run
	buffer int // of the subscription

	docs []twin
	now  time.Time
	err  error // the first thing that went wrong
	// taken are the arrows that the documents took.
	taken arrows

	// The process; a kill wipes it.
	process
}

type process struct {
	table
	killed     bool // it is not the first one
	bus        []int
	subscribed bool
	listener   listener
	feed       feed
	workers    [2]worker
	producers  [2]producer
	resuming   []int // resumed, and not announced yet
}

func newWorld(mutant string, toyTable bool, limit int) *world {
	w := &world{mutant: mutant, limit: limit, slice: 1 << 20, buffer: 1, docs: make([]twin, len(keys)), now: epoch, taken: make(arrows)}
	if toyTable {
		w.toy = newToy(limit, mutant)
	}
	w.start()
	return w
}

func (w *world) start() {
	killed := w.process.table != nil
	w.process = process{table: dispatcher.NewTable(w.limit, 1), killed: killed}
	if w.toy != nil {
		w.toy = newToy(w.limit, w.mutant)
		w.table = w.toy
	}
}

// cut is a kill that takes what was not synced.
func (w *world) cut() {
	for i := range w.docs {
		d := &w.docs[i]
		d.applied, d.notBefore = d.synced, time.Time{}
		d.dirty = d.head > d.applied
	}
	w.start()
}

// sync covers all that was written before it.
func (w *world) sync() {
	for i := range w.docs {
		w.docs[i].synced = w.docs[i].applied
	}
}

func (w *world) publish(d int) {
	switch {
	case !w.subscribed:
	case len(w.bus) < w.buffer:
		w.bus = append(w.bus, d)
	default:
		w.bus, w.subscribed = nil, false
	}
}

// watch notes which arrows the documents take during call.
func (w *world) watch(event string, call func()) {
	var before [2]dispatcher.State
	for i, k := range keys {
		before[i] = w.State(k)
	}
	call()
	for i, k := range keys {
		if after := w.State(k); after != before[i] {
			w.taken[arrow{before[i].String(), event, after.String()}] = true
		}
	}
}

// signal reports whether there was room.
func (w *world) signal(d int) (ok bool) {
	w.watch("signal", func() { ok = w.Signal(keys[d]) })
	return ok
}

func (w *world) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// drain lets everybody go on, without further faults, until nothing changes.
func (w *world) drain() {
	for range 10_000 {
		progress := false
		for _, actor := range actors {
			for w.step(actor, "", 0) {
				progress = true
			}
		}
		switch {
		case progress:
		case w.waits():
			w.now = w.now.Add(time.Hour)
		default:
			return
		}
	}
	w.fail("it does not come to rest")
}

// waits reports whether somebody waits for time to pass.
func (w *world) waits() bool {
	for i := range w.docs {
		if w.docs[i].notBefore.After(w.now) {
			return true
		}
	}
	return w.feed.next.After(w.now)
}

// wrong returns what went wrong, or is left undone at rest.
func (w *world) wrong() error {
	err := w.err
	for i := range w.docs {
		if undone := w.docs[i].atRest(); undone != nil {
			err = errors.Join(err, fmt.Errorf("document %d: %w", i, undone))
		}
		if s := w.State(keys[i]); s != dispatcher.Idle {
			err = errors.Join(err, fmt.Errorf("document %d is %s at rest", i, s))
		}
	}
	return err
}
