package sim

import (
	"encoding/json"
	"errors"
	"runtime"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// fold is the application's, with what may go wrong in it.
func (p *process) fold(version int) func(s state, op materializer.Operation[entry]) (state, error) {
	name := store.CollectionName{Name: collection, Version: version}.String()
	return func(s state, op materializer.Operation[entry]) (state, error) {
		k := store.Key{Collection: name, ID: op.Document}
		if p.dead.Load() {
			return s, errDead
		}
		p.checkFold(s, op)
		done, wrong := p.begins(k)
		defer done()
		if wrong != nil {
			s.N, s.Sum = -1, 0 // half done
			return s, wrong
		}
		if op.Body.Poison && !p.w.healed {
			return s, materializer.Permanent(errors.New("poison"))
		}
		if op.Body.Delete {
			return state{}, materializer.Deleted
		}
		body, err := json.Marshal(op.Body)
		if err != nil {
			return s, err
		}
		return s.next(version, op.Seq, op.ID, body), nil
	}
}

// begins is the beginning of a function of the application that is about a document: whether it
// may be called now, and what may go wrong. done is called at its end.
func (p *process) begins(k store.Key) (done func(), wrong error) {
	w, doc := p.w, row(k)
	done = func() {}
	if p.dead.Load() {
		return done, errDead
	}
	if p.folding[doc] && !w.sh.overtaken[doc] {
		w.fail("%s folds %s twice at once", p.name, doc)
		return done, errDead
	}
	p.checkLease(doc)
	if w.err != nil {
		return done, errDead
	}
	p.folding[doc] = true
	done = func() {
		if !p.dead.Load() {
			delete(p.folding, doc)
		}
	}
	ended := true // unless it is said below that it goes on
	defer func() {
		if ended {
			done()
		}
	}()
	pl := place{p, "fold of " + doc}
	if w.c.oneIn(2) {
		w.park(pl, "folds", nil)
	}
	if p.dead.Load() {
		return done, errDead
	}
	if w.faults {
		switch {
		case w.c.oneIn(w.opt.slow):
			w.sleep(pl, of(w.c, 150*time.Millisecond, 1700*time.Millisecond, 5*time.Second, 25*time.Second), "has folded slowly")
			if p.dead.Load() {
				return done, errDead
			}
		case w.c.oneIn(w.opt.flaky):
			return done, errors.New("flaky")
		case w.c.oneIn(w.opt.panics):
			panic("fold")
		case w.c.oneIn(w.opt.exits):
			runtime.Goexit()
		}
	}
	ended = false
	return done, nil
}

// checkFold checks that this operation may be folded now.
func (p *process) checkFold(s state, op materializer.Operation[entry]) {
	w, d := p.w, p.w.sh.model.content(op.Document)
	first := s.N + 1
	for seq := op.Seq - 1; s.N == 0 && seq > 0 && !d.forgotten; seq-- {
		if deletes(d.ops[seq-1].body) {
			first = seq + 1
			break
		}
	}
	for seq := first; seq < op.Seq && !d.forgotten; seq++ {
		if !d.ops[seq-1].discarded {
			w.fail("%s folds operation %d of %s into a state of %d", p.name, op.Seq, op.Document, s.N)
		}
	}
	if s.N >= op.Seq {
		w.fail("%s folds operation %d of %s into a state of %d", p.name, op.Seq, op.Document, s.N)
	}
	if p.resting && p.h.paused && w.sh.model.paused {
		w.fail("%s folds %s, whose collection is paused, as it knows", p.name, op.Document)
	}
}

// checkLease checks that the process may work on a row.
func (p *process) checkLease(doc string) {
	w := p.w
	if !w.opt.shared {
		return
	}
	if len(p.granted[doc]) == 0 {
		w.fail("%s folds %s, and has no lease", p.name, doc)
	}
	for _, other := range w.procs {
		if other != p && !other.dead.Load() && other.folding[doc] && other.holding(doc) && p.holding(doc) {
			w.fail("%s and %s fold %s under leases that have both not run out", p.name, other.name, doc)
		}
	}
}
