package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/refold-go/refold/store"
)

// Pause implements [store.Pauser].
func (h *handle) Pause(ctx context.Context, name string, paused bool) error {
	sh, w := h.sh, h.p.w
	if pl, ok := at(ctx); ok && pl.name == "operator" {
		h.asking = true
	}
	return h.write(ctx, fmt.Sprintf("pause %t", paused), func(bool) error {
		sh.model.paused = paused
		if w.rare.Pauses++; !paused {
			for _, p := range w.procs {
				p.resting = false
			}
		}
		sh.log(true, func(st store.Backend) error { return st.Pause(context.Background(), name, paused) })
		sh.foreigner(h)
		w.note(h.p.name, "pause", fmt.Sprint(paused))
		return sh.inner.Pause(context.Background(), name, paused)
	})
}

// Discard implements [store.Parking].
func (h *handle) Discard(ctx context.Context, discard store.Discard) error {
	sh, w, k := h.sh, h.p.w, discard.Key
	call := fmt.Sprintf("discard of %d of %s", discard.Seq, k.ID)
	return h.write(ctx, call, func(late bool) error {
		d := sh.model.doc(k)
		var want error
		switch {
		case discard.Seq > d.head():
			want = store.ErrNotFound
		case d.ops[discard.Seq-1].discarded:
		case discard.Seq <= d.applied:
			want = store.ErrInvalid
		default:
			sh.pending = func() {
				if w.rare.Discards++; d.parked && d.parkedAt == discard.Seq {
					w.rare.DiscardsParked++
				}
				d.lease.voids(k.ID)
				d.discard(discard.Seq)
				if d.epoch = sh.load(k).Epoch; d.epoch <= d.top {
					w.fail("%s has epoch %d after a discard, and had %d", k, d.epoch, d.top)
				}
				d.top = d.epoch
				sh.log(true, func(st store.Backend) error { return st.Discard(context.Background(), discard) })
				sh.touch(k)
			}
		}
		err := sh.inner.Discard(context.Background(), discard)
		if !late && h.p.dead.Load() {
			return errDead // it died before it could say so
		}
		if !errors.Is(err, want) || want == nil && err != nil {
			w.fail("%s %s: %v, want %v", h.p.name, call, err, want)
		}
		sh.effect()
		w.note(h.p.name, call, fmt.Sprint(want))
		return err
	})
}

// Forget implements [store.Eraser].
func (h *handle) Forget(ctx context.Context, k store.Key) error {
	sh, w := h.sh, h.p.w
	return h.write(ctx, "forget "+k.ID, func(bool) error {
		if !sh.model.doc(k).forgotten {
			w.rare.Forgets++
		}
		sh.model.doc(k).lease.voids(k.ID)
		sh.model.docs[k] = &modelDoc{ids: make(map[string]int64), views: make([]state, 1), forgotten: true}
		sh.touch(k)
		sh.log(true, func(st store.Backend) error { return st.Forget(context.Background(), k) })
		sh.foreigner(h)
		w.note(h.p.name, "forget", k.ID)
		return sh.inner.Forget(context.Background(), k)
	})
}
