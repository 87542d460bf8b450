package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// check compares what was written in the last step with the model.
func (w *world) check() {
	sh := w.sh
	if len(sh.touched) == 0 {
		return
	}
	for k := range sh.touched {
		w.checkDocument(k)
	}
	clear(sh.touched)
}

func (w *world) checkDocument(k store.Key) {
	d := w.sh.model.doc(k)
	if d.made {
		w.checkMade(d)
		return
	}
	doc := w.sh.load(k)
	switch {
	case doc.Head != d.head():
		w.fail("head of %s is %d, want %d", k, doc.Head, d.head())
	case doc.Applied != d.applied:
		w.fail("%s is applied up to %d, want %d", k, doc.Applied, d.applied)
	case doc.Applied > doc.Head:
		w.fail("%s is applied up to %d of %d", k, doc.Applied, doc.Head)
	case !bytes.Equal(doc.View, d.view(doc.Applied)):
		w.fail("view of %s at %d is %s, want %s", k, doc.Applied, doc.View, d.view(doc.Applied))
	case doc.Epoch != d.epoch && d.exists:
		w.fail("epoch of %s is %d, want %d", k, doc.Epoch, d.epoch)
	case doc.Lease.Holder != d.lease.holder || doc.Lease.Left > 0 != d.lease.held():
		w.fail("%s is leased by %q for %v, want %q until %v", k, doc.Lease.Holder, doc.Lease.Left, d.lease.holder, d.lease.until)
	case doc.Parked() != d.parked:
		w.fail("%s is parked: %t, want %t", k, doc.Parked(), d.parked)
	case doc.Dirty() && doc.Since.Position != d.ops[doc.Applied].position:
		w.fail("%s lacks position %d first, want %d", k, doc.Since.Position, d.ops[doc.Applied].position)
	}
}

// checkLog compares all operations, and everything else once more.
func (w *world) checkLog() {
	for k := range w.sh.model.docs {
		w.checkDocument(k)
	}
	for _, d := range w.sh.model.served() {
		k := d.key
		seq := int64(0)
		for op, err := range store.ReadOperations(context.Background(), w.sh.inner, k, 1) {
			if err != nil {
				w.fail("reading the operations of %s: %v", k, err)
				return
			}
			if seq++; seq > d.head() || op.Seq != seq {
				w.fail("%s has an operation %d after %d", k, op.Seq, seq-1)
				return
			}
			if m := d.ops[seq-1]; op.ID != m.id || string(op.Body) != m.body || op.Position != m.position {
				w.fail("operation %d of %s is %+v, want %+v", seq, k, op, m)
			}
		}
		if seq != d.head() {
			w.fail("%s has %d operations, want %d", k, seq, d.head())
		}
	}
	for _, a := range w.clients.acked {
		if d := w.sh.model.doc(key(a.id)); d.head() < a.seq && !d.forgotten {
			w.fail("operation %d of %s was acknowledged and is gone", a.seq, a.id)
		}
	}
}

// converged reports whether all that was asked for is done.
func (w *world) converged() bool {
	if !w.clients.done() {
		return false
	}
	for _, d := range w.sh.model.served() {
		if d.applied < d.head() || d.parked {
			return false
		}
	}
	return w.upToDate() && w.allMade()
}

// tableEmpty reports whether whoever makes the views has nothing to do.
func (w *world) tableEmpty() bool {
	return !slices.ContainsFunc(w.sh.working, func(p *process) bool {
		s := p.m.Stats()
		return s.Queued+s.Running+s.Delayed+s.Cooling > 0
	})
}

// unfinished describes what is not done.
func (w *world) unfinished() string {
	var b strings.Builder
	for _, p := range w.sh.working {
		fmt.Fprintf(&b, "%s %+v; ", p.name, p.m.Stats())
	}
	for _, f := range w.followers {
		fmt.Fprintf(&b, "%s has %v, ", f.name, f.has)
	}
	if n := len(w.clients.todo) + len(w.clients.inFlight); n > 0 {
		fmt.Fprintf(&b, "%d requests are not answered; ", n)
	}
	fmt.Fprintf(&b, "released are %v", w.released)
	for name, c := range w.sh.model.collections {
		fmt.Fprintf(&b, ", of %s version %d is served beside %v", name, c.served, c.beside)
	}
	b.WriteString("; ")
	for k, d := range w.sh.model.docs {
		w.sh.refresh(k)
		if d.applied == d.head() && !d.parked {
			continue
		}
		fmt.Fprintf(&b, "%s is at %d of %d, parked %t", k, d.applied, d.head(), d.parked)
		for _, p := range w.sh.working {
			x, err := p.m.Explain(root, k)
			fmt.Fprintf(&b, " (%v, %v)", x, err)
		}
		b.WriteString("; ")
	}
	return b.String()
}

// calmFor is how long it may take at most until everything is in its view, when
// nothing fails any more: a document of which the store failed several times waits
// for up to a minute.
const calmFor = 150 * time.Second

// calm ends the faults, and checks that everything comes to rest.
func (w *world) calm() {
	w.note("the faults are over")
	w.faults, w.healed = false, true
	for _, p := range w.procs {
		p.frozen = time.Time{}
	}
	w.retireOld()
	if !slices.ContainsFunc(w.procs, func(p *process) bool { return !p.dead.Load() && !p.stopping && p.newest() }) {
		w.bornAfter(time.Millisecond)
	}
	began := time.Now()
	helped := make(map[*process]bool)
	rested := false
	w.run(func(quiet bool) bool {
		if time.Since(began) > calmFor {
			w.fail("%v after the last fault not everything is done: %s", calmFor, w.unfinished())
			return true
		}
		for _, p := range w.procs {
			if p.up && !p.dead.Load() && !p.stopping && p.newest() && !helped[p] && len(helped) == 0 {
				helped[p] = true
				p.spawn("janitor", func(ctx context.Context, pl place) { rested = w.operate(ctx, pl) })
				return false
			}
		}
		return rested && quiet && w.tableEmpty() && (!w.opt.derived || w.converged())
	})
	w.checkLog()
	w.checkFromScratch()
}

// operate does what is left to do, and waits until everything is in its view.
func (w *world) operate(ctx context.Context, pl place) bool {
	w.park(pl, "begins", nil)
	for !w.converged() {
		w.clients.append(ctx, pl)
		if w.sh.model.paused {
			if err := pl.p.docs.Unpause(ctx); err != nil {
				w.fail("unpausing: %v", err)
			}
		}
		if w.anyParked() {
			if _, err := pl.p.docs.ResumeAll(ctx); err != nil {
				w.fail("resuming: %v", err)
			}
		}
		w.resumeMade(ctx, pl.p)
		w.sleep(pl, 500*time.Millisecond, "looks again")
		if w.err != nil {
			return false
		}
	}
	if err := pl.p.m.Drain(ctx); err != nil {
		w.fail("draining at the end: %v", err)
	}
	for _, a := range w.clients.acked {
		if w.sh.model.doc(key(a.id)).forgotten {
			continue
		}
		v, err := pl.p.docs.Get(ctx, a.id, materializer.AtLeast(a.token))
		if err != nil && !errors.Is(err, materializer.ErrDeleted) || v.Applied < a.seq {
			w.fail("reading %s at the end: %+v, %v", a.id, v, err)
			break
		}
	}
	w.sleep(pl, time.Second, "is content") // what cools must leave the table
	return true
}

// stopAll ends all processes in good order, and waits for them.
func (w *world) stopAll() {
	for _, p := range w.procs {
		if !p.dead.Load() {
			p.account()
			p.stopping = true
			p.stop()
		}
	}
	began := time.Now()
	w.run(func(bool) bool {
		if n := w.alive.Load(); n > 0 && time.Since(began) < 5*time.Minute {
			return false
		} else if n > 0 {
			w.fail("%d goroutines have not ended", n)
		}
		return true
	})
}
