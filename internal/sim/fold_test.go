package sim

import (
	"encoding/json"
	"errors"
	"runtime"
	"time"

	"github.com/refold-go/refold/materializer"
)

// fold is the application's, with what may go wrong in it.
func (p *process) fold(s state, op materializer.Operation[entry]) (state, error) {
	w := p.w
	if p.dead.Load() {
		return s, errDead
	}
	if p.folding[op.Document] && !w.sh.overtaken[op.Document] {
		w.fail("%s folds %s twice at once", p.name, op.Document)
		return s, errDead
	}
	p.checkFold(s, op)
	if w.err != nil {
		return s, errDead
	}
	p.folding[op.Document] = true
	defer func() {
		if !p.dead.Load() {
			delete(p.folding, op.Document)
		}
	}()
	pl := place{p, "fold of " + op.Document}
	if w.c.oneIn(2) {
		w.park(pl, "folds", nil)
	}
	if p.dead.Load() {
		return s, errDead
	}
	if w.faults {
		switch {
		case w.c.oneIn(w.opt.slow):
			w.sleep(pl, of(w.c, 150*time.Millisecond, 1700*time.Millisecond, 5*time.Second, 25*time.Second), "has folded slowly")
			if p.dead.Load() {
				return s, errDead
			}
		case w.c.oneIn(w.opt.flaky):
			s.N, s.Sum = -1, 0 // half done
			return s, errors.New("flaky")
		case w.c.oneIn(w.opt.panics):
			panic("fold")
		case w.c.oneIn(w.opt.exits):
			runtime.Goexit()
		}
	}
	if op.Body.Poison && !w.healed {
		return s, materializer.Permanent(errors.New("poison"))
	}
	body, err := json.Marshal(op.Body)
	if err != nil {
		return s, err
	}
	return s.next(op.Seq, op.ID, body), nil
}

// checkFold checks that this operation may be folded now.
func (p *process) checkFold(s state, op materializer.Operation[entry]) {
	w, d := p.w, p.w.sh.model.doc(key(op.Document))
	for seq := s.N + 1; seq < op.Seq && !d.forgotten; seq++ {
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
	if !w.opt.shared {
		return
	}
	if len(p.granted[op.Document]) == 0 {
		w.fail("%s folds %s, and has no lease", p.name, op.Document)
	}
	for _, other := range w.procs {
		if other != p && !other.dead.Load() && other.folding[op.Document] && other.holding(op.Document) && p.holding(op.Document) {
			w.fail("%s and %s fold %s under leases that have both not run out", p.name, other.name, op.Document)
		}
	}
}
