package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// operate is somebody who looks after the documents, not always wisely.
func (cs *clients) operate(ctx context.Context, pl place) {
	w, docs := cs.w, pl.p.docs
	w.park(pl, "begins", nil)
	for range 5 {
		if pl.p.dead.Load() {
			return // the root did not wait for it
		}
		w.sleep(pl, of(w.c, 10*time.Millisecond, 300*time.Millisecond, 2*time.Second, 9*time.Second), "looks after it")
		if pl.p.dead.Load() || !w.faults {
			return
		}
		id := fmt.Sprintf("d%d", w.c.n(w.opt.docs))
		var err error
		kinds := 10
		if w.opt.derived {
			kinds = 14
		}
		switch w.c.n(kinds) {
		case 0, 1, 2:
			err = docs.Unpause(ctx)
		case 3, 4:
			err = docs.Pause(ctx)
		case 5:
			if w.c.oneIn(2) {
				_, err = docs.Resume(ctx, id)
			} else {
				_, err = docs.ResumeAll(ctx)
			}
		case 6, 7:
			err = cs.discardParked(ctx, pl)
		case 8:
			d := w.sh.model.doc(key(id))
			err = docs.Discard(ctx, id, 1+d.applied+int64(w.c.n(3)), "operator", "why not")
		case 9:
			if cs.forgotten || !w.c.oneIn(3) {
				continue
			}
			err = docs.Forget(ctx, id)
			cs.forgotten = err == nil
		case 10, 11:
			if d := pl.p.derived[of(w.c, w.opt.kinds...)]; d != nil {
				_, err = d.ResumeAll(ctx)
			}
		case 12, 13:
			if id, seq, ok := w.ahead(); ok {
				err = docs.Discard(ctx, id, seq, "operator", "what is built has it already")
			}
		}
		if pl.p.dead.Load() {
			return
		}
		if err != nil && !errors.Is(err, errInjected) && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrInvalid) {
			w.fail("%s looks after the documents: %v", pl.p.name, err)
			return
		}
	}
}

// discardParked discards what a parked document fails at.
func (cs *clients) discardParked(ctx context.Context, pl place) error {
	var parked []materializer.ParkedDocument
	for p, err := range pl.p.docs.Parked(ctx) {
		if err != nil {
			return err
		}
		parked = append(parked, p)
	}
	if len(parked) == 0 {
		return nil
	}
	p := parked[cs.w.c.n(len(parked))]
	return pl.p.docs.Discard(ctx, p.ID, p.Seq, "operator", p.Error)
}

// ahead returns a document of which a generation beside what is served has an operation in its view
// that the one which is served lacks, and the operation.
func (w *world) ahead() (id string, seq int64, ok bool) {
	for _, d := range w.sh.model.served() {
		for _, version := range w.sh.model.collections[collection].beside {
			other := w.sh.model.doc(store.Key{Collection: store.CollectionName{Name: collection, Version: version}.String(), ID: d.key.ID})
			if other.applied > d.applied {
				return d.key.ID, d.applied + 1, true
			}
		}
	}
	return "", 0, false
}
