package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
		case d.forgotten, discard.Seq > d.head():
			want = store.ErrNotFound
		case d.ops[discard.Seq-1].discarded:
		case discard.Seq <= d.applied:
			want = store.ErrInvalid
		default:
			sh.pending = func() {
				if w.rare.Discards++; d.parked && d.parkedAt == discard.Seq {
					w.rare.DiscardsParked++
				}
				d.content.discard(discard.Seq)
				for _, d := range sh.model.rows(func(other store.Key) bool { return other.ID == k.ID }) {
					if !d.made && d.exists {
						sh.discarded(d, discard.Seq)
					}
				}
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
		if !sh.model.content(k.ID).forgotten {
			w.rare.Forgets++
		}
		delete(sh.model.contents, k.ID)
		sh.model.content(k.ID).forgotten = true
		own, from := collection+"@", "<"+collection
		sh.forgetRows(sh.model.rows(func(other store.Key) bool {
			return other.ID == k.ID && (strings.HasPrefix(other.Collection, own) || strings.HasSuffix(other.Collection, from))
		}))
		sh.touch(k)
		sh.log(true, func(st store.Backend) error { return st.Forget(context.Background(), k) })
		sh.foreigner(h)
		w.note(h.p.name, "forget", k.ID)
		return sh.inner.Forget(context.Background(), k)
	})
}

// discard marks an operation, which the view that is served must lack.
func (c *content) discard(seq int64) {
	c.ops[seq-1].discarded = true
	for version, views := range c.views {
		c.views[version] = views[:min(int64(len(views)), seq)]
	}
}

// discarded is what becomes of a row when an operation is discarded: runs in hand are stale, and
// a view that contains it, which is none that is served, is made again.
func (sh *shared) discarded(d *modelDoc, seq int64) {
	d.lease.voids(row(d.key))
	d.lease = modelLease{}
	if d.applied >= seq {
		d.applied, d.parked, d.changed = 0, false, 0
	} else if d.parked && d.parkedAt == seq {
		d.parked = false
	}
	if d.epoch = sh.load(d.key).Epoch; d.epoch <= d.top {
		sh.w.fail("%s has epoch %d after a discard, and had %d", d.key, d.epoch, d.top)
	}
	d.top = d.epoch
	sh.touch(d.key)
}
