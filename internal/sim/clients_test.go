package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// clients are those who append and read, in whatever process.
type clients struct {
	w        *world
	todo     []*request
	inFlight map[*request]*process
	acked    []ack
	repeats  []*request // were stored, and may be sent again
	repeated int
	// forgotten tells that a document was: one is enough.
	forgotten bool
}

// request is one append. It is sent until it is answered, by another process if
// need be.
type request struct {
	n       int
	entries map[string][]materializer.NewOperation[entry]
	expect  bool // the head of the only document
	named   bool // all operations have ids
	reuse   bool // an id that was used for something else
	doubted bool
}

// ack is what somebody was told to be stored.
type ack struct {
	id    string
	seq   int64
	token store.Token
}

func newClients(w *world) *clients {
	cs := &clients{w: w, inFlight: make(map[*request]*process)}
	c := w.c
	for n := range w.opt.requests {
		r := &request{n: n, entries: make(map[string][]materializer.NewOperation[entry]), named: !c.oneIn(6)}
		docs := 1
		if c.oneIn(5) {
			docs = 2
		}
		for range docs {
			id := fmt.Sprintf("d%d", c.n(w.opt.docs))
			for i := range 1 + c.n(3) {
				op := materializer.NewOperation[entry]{Body: entry{V: n*100 + i, Poison: c.oneIn(w.opt.poison), Delete: c.oneIn(w.opt.deletes)}}
				if r.named {
					op.ID = fmt.Sprintf("r%d-%s-%d", n, id, i)
				}
				if len(r.entries[id]) <= i {
					r.entries[id] = append(r.entries[id], op)
				}
			}
		}
		r.expect = len(r.entries) == 1 && c.oneIn(6)
		cs.todo = append(cs.todo, r)
	}
	return cs
}

// buried gives the requests of a dead process to whoever comes next.
func (cs *clients) buried(p *process) {
	var back []*request
	for r, by := range cs.inFlight {
		if by == p {
			back = append(back, r)
		}
	}
	slices.SortFunc(back, func(a, b *request) int { return cmp.Compare(a.n, b.n) })
	for _, r := range back {
		delete(cs.inFlight, r)
		if r.named {
			cs.todo = append(cs.todo, r) // nobody knows what became of it
		}
	}
}

func (cs *clients) done() bool { return len(cs.todo)+len(cs.inFlight) == 0 }

// append is an appender: it sends what there is to send.
func (cs *clients) append(ctx context.Context, pl place) {
	w := cs.w
	w.park(pl, "begins", nil)
	for !pl.p.dead.Load() && len(cs.todo) > 0 {
		if d := of(w.c, 0, 0, time.Millisecond, 150*time.Millisecond, 3*time.Second); d > 0 && w.faults {
			w.sleep(pl, d, "has thought")
			if pl.p.dead.Load() || len(cs.todo) == 0 {
				return
			}
		}
		var r *request
		if w.faults && len(cs.repeats) > 0 && w.c.oneIn(12) {
			r = cs.again()
		} else {
			r = cs.next(pl.p)
		}
		cs.inFlight[r] = pl.p
		cs.send(ctx, pl, r)
		if pl.p.dead.Load() {
			return
		}
		delete(cs.inFlight, r)
	}
}

// next takes the next request: one to a document that another process has just
// committed, if there is one.
func (cs *clients) next(p *process) *request {
	w, i := cs.w, 0
	if w.committed != "" && w.committer != p {
		i = max(0, slices.IndexFunc(cs.todo, func(r *request) bool { return r.entries[w.committed] != nil }))
		w.committed = ""
	}
	r := cs.todo[i]
	cs.todo = slices.Delete(cs.todo, i, i+1)
	return r
}

// again returns a request that was stored, or one that uses its ids for others.
func (cs *clients) again() *request {
	c := cs.w.c
	old := cs.repeats[c.n(len(cs.repeats))]
	cs.repeated++
	r := &request{n: 1000 + cs.repeated, entries: old.entries, named: true}
	if c.oneIn(2) {
		r.reuse = true
		r.entries = make(map[string][]materializer.NewOperation[entry])
		for id, ops := range old.entries {
			ops = slices.Clone(ops)
			ops[len(ops)-1].Body.V++
			r.entries[id] = ops
		}
	}
	return r
}

// send sends a request until it is answered.
func (cs *clients) send(ctx context.Context, pl place, r *request) {
	w, p := cs.w, pl.p
	ids := make([]string, 0, len(r.entries))
	for id := range r.entries {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for {
		changes := make([]materializer.Change, len(ids))
		for i, id := range ids {
			changes[i] = p.docs.ChangeWith(id, r.entries[id]...)
			if r.expect {
				changes[i] = changes[i].ExpectHead(w.sh.model.doc(key(id)).head())
			}
		}
		appended, err := p.m.Append(ctx, changes...)
		if p.dead.Load() {
			return
		}
		switch {
		case err == nil:
			cs.ack(pl, r, ids, appended)
			return
		case errors.Is(err, materializer.ErrInDoubt) && errors.Is(err, errInjected):
			r.doubted = true
			if !r.named {
				return // sending it again could store it twice
			}
			w.rare.RetriesAfterDoubt++
		case errors.Is(err, errInjected):
		case errors.Is(err, materializer.ErrConflict) && r.expect:
			w.rare.Conflicts++
		case errors.Is(err, materializer.ErrForgotten) && slices.ContainsFunc(ids, func(id string) bool { return w.sh.model.doc(key(id)).forgotten }):
			return
		case errors.Is(err, materializer.ErrIDReused) && r.reuse:
			w.rare.ReusedIDs++
			return
		default:
			w.fail("%s appending said %v", p.name, err)
			return
		}
		w.sleep(pl, of(w.c, 10*time.Millisecond, time.Second), "sends again")
		if p.dead.Load() {
			return
		}
	}
}

func (cs *clients) ack(pl place, r *request, ids []string, appended materializer.Appended) {
	w := cs.w
	if r.reuse {
		w.fail("%s appended under ids that were used: %v", pl.p.name, ids)
		return
	}
	for i, id := range ids {
		d := &appended.Documents[i]
		for j, placed := range d.Operations {
			if placed.Duplicate {
				w.rare.Duplicates++
			}
			md := w.sh.model.content(id)
			if !md.forgotten && (placed.Seq > int64(len(md.ops)) || md.ops[placed.Seq-1].id != r.entries[id][j].ID) {
				w.fail("%s was told that operation %q of %s is %d, and it is not", pl.p.name, r.entries[id][j].ID, id, placed.Seq)
				return
			}
			cs.acked = append(cs.acked, ack{id, placed.Seq, appended.Token})
		}
	}
	if r.named && r.n < 1000 {
		cs.repeats = append(cs.repeats, r)
	}
}

// read is a reader: it asks for what somebody was told to be stored.
func (cs *clients) read(ctx context.Context, pl place) {
	w, p := cs.w, pl.p
	w.park(pl, "begins", nil)
	seen, derived := make(map[string]copied), make(made)
	for range 6 {
		if p.dead.Load() || !w.faults {
			return
		}
		w.sleep(pl, of(w.c, time.Millisecond, 200*time.Millisecond, 2*time.Second), "wants to read")
		if p.dead.Load() || !w.faults {
			return
		}
		limited, cancel := context.WithTimeout(ctx, 4*time.Second)
		if w.c.oneIn(5) {
			cs.drain(limited, pl)
		} else if w.opt.derived && w.c.oneIn(2) {
			cs.getDerived(limited, pl, derived)
		} else {
			cs.get(limited, pl, seen)
		}
		cancel()
	}
}

// expected reports whether a read may fail so.
func expected(err error) bool {
	return errors.Is(err, errInjected) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, materializer.ErrNotRunning)
}

func (cs *clients) get(ctx context.Context, pl place, seen map[string]copied) {
	w := cs.w
	want := ack{id: fmt.Sprintf("d%d", w.c.n(w.opt.docs))}
	if len(cs.acked) > 0 && !w.c.oneIn(4) {
		want = cs.acked[len(cs.acked)-1-w.c.n(len(cs.acked))]
	}
	v, err := pl.p.docs.Get(ctx, want.id, materializer.AtLeast(want.token))
	if pl.p.dead.Load() {
		return
	}
	d := w.sh.model.doc(key(want.id))
	switch {
	case err != nil && expected(err), d.forgotten:
		return
	case errors.Is(err, materializer.ErrNotFound) && want.seq == 0:
		return
	case errors.Is(err, materializer.ErrDeleted) && v.Applied > 0 && v.Applied <= int64(len(d.ops)) && d.gone(v.Applied):
	case err != nil && !errors.Is(err, materializer.ErrParked):
		w.fail("%s reading %s: %v", pl.p.name, want.id, err)
		return
	}
	switch {
	case v.Applied < want.seq && !errors.Is(err, materializer.ErrParked):
		w.fail("%s read %s at %d, but %d was asked for", pl.p.name, want.id, v.Applied, want.seq)
	case v.Applied < seen[want.id].applied:
		w.fail("%s read %s at %d, after it had read %d", pl.p.name, want.id, v.Applied, seen[want.id].applied)
	case v.Epoch < seen[want.id].epoch && v.Version == seen[want.id].version:
		w.fail("%s read %s with epoch %d, after it had read %d", pl.p.name, want.id, v.Epoch, seen[want.id].epoch)
	case v.Head > d.head() || v.Applied > v.Head || v.State != d.content.state(max(v.Version, 1), v.Applied):
		w.fail("%s read %s as %+v, which it never was", pl.p.name, want.id, v)
	}
	seen[want.id] = copied{applied: v.Applied, epoch: v.Epoch, version: v.Version}
	if want.seq > 0 {
		w.rare.ReadsAtLeast++
	}
}

// drain waits for all that was acknowledged before.
func (cs *clients) drain(ctx context.Context, pl place) {
	w := cs.w
	before := slices.Clone(cs.acked)
	err := pl.p.m.Drain(ctx)
	switch {
	case pl.p.dead.Load():
	case err == nil || errors.Is(err, materializer.ErrParked):
		for _, a := range before {
			if d := w.sh.model.doc(key(a.id)); d.applied < a.seq && !d.parked && !d.forgotten && err == nil {
				w.fail("%s drained, but %s is at %d and had %d before", pl.p.name, a.id, d.applied, a.seq)
			}
		}
		if w.rare.Drains++; pl.p.derived[sums] != nil && err == nil {
			cs.drained(pl.p.name, before)
		}
	case !expected(err):
		w.fail("%s draining: %v", pl.p.name, err)
	}
}
