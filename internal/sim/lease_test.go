package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
)

// mayWrite checks that Run has not returned.
func (h *handle) mayWrite(call string) {
	if h.p.returned && !h.p.dead.Load() {
		h.p.w.fail("%s writes after Run has returned: %s", h.p.name, call)
	}
}

// jump are terms by a clock that drifts or jumps against that of the holder: the
// lease runs out sooner or later than it thinks.
func (h *handle) jump(terms store.LeaseTerms) store.LeaseTerms {
	w := h.p.w
	if !w.faults || !w.c.oneIn(w.opt.skew) {
		return terms
	}
	d := terms.For
	terms.For = min(of(w.c, d/2, time.Millisecond, d+d/10, 2*d), store.MaxLease)
	terms.Most = max(terms.Most, terms.For)
	return terms
}

// Lease implements [store.Leaser].
func (h *handle) Lease(ctx context.Context, holder string, terms store.LeaseTerms, keys []store.Key, over bool) (answers []store.Leased, err error) {
	sh, w := h.sh, h.p.w
	call := "lease of " + names(keys, own)
	h.mayWrite(call)
	err = h.write(ctx, call, func(bool) error {
		terms := h.jump(terms)
		want := make([]store.NotLeased, len(keys))
		for i, k := range keys {
			sh.refresh(k)
			wait := time.Duration(0)
			if f := sh.load(k).Failure; f != nil {
				wait = f.Delay
			}
			want[i] = sh.model.leasable(k, wait, holder, over)
		}
		got, err := sh.inner.Lease(context.Background(), holder, terms, keys, over)
		if err != nil {
			w.fail("%s %s: %v", h.p.name, call, err)
			return err
		}
		var taken []store.Held
		for i, k := range keys {
			w.note(h.p.name, "lease of", row(k), got[i].Why.String())
			if got[i].Why != want[i] {
				w.fail("%s lease of %s by %s is %v, want %v", h.p.name, k, holder, got[i].Why, want[i])
				return nil
			}
			switch {
			case want[i] == store.Elsewhere:
				w.rare.Elsewhere++
			case want[i] == store.Taken:
				taken = append(taken, store.Held{Key: k, Epoch: got[i].Epoch})
				sh.grant(h, holder, terms, taken[len(taken)-1], over)
			}
		}
		if len(taken) > 0 {
			sh.logLease(holder, taken)
			sh.foreigner(h)
		}
		for i := range got {
			got[i].Wait = h.skewed(ctx, got[i].Wait)
			h.skewLease(ctx, &got[i].Lease)
		}
		answers = got
		return nil
	})
	if err != nil {
		h.failed()
		return nil, err
	}
	return answers, nil
}

// grant checks a lease that was given, and notes it.
func (sh *shared) grant(h *handle, holder string, terms store.LeaseTerms, held store.Held, over bool) {
	w, d := sh.w, sh.model.doc(held.Key)
	if held.Epoch <= d.top {
		w.fail("%s: epoch %d was given after %d", held.Key, held.Epoch, d.top)
	}
	if over && !strings.HasSuffix(holder, "+careful") {
		w.fail("%s takes over %s in its pool", h.p.name, held.Key)
	}
	id := row(held.Key)
	if d.lease.holder != holder {
		d.lease.voids(id)
		if last := d.lease.by; last != nil && last != h.p && !last.dead.Load() {
			w.rare.OverdueLeases++
		}
	}
	now := time.Now()
	d.epoch, d.top = held.Epoch, held.Epoch
	d.lease = modelLease{holder: holder, by: h.p, taken: now, until: now.Add(terms.For)}
	h.p.granted[id] = append(slices.DeleteFunc(h.p.granted[id], func(g *granted) bool { return g.holder == holder }),
		&granted{holder: holder, epoch: held.Epoch, until: d.lease.until})
	sh.touch(held.Key)
	w.rare.Leases++
}

// logLease journals leases as they are now: when that is repeated after a power cut,
// some time has passed.
func (sh *shared) logLease(holder string, taken []store.Held) {
	keys := make([]store.Key, len(taken))
	until := make([]time.Time, len(taken))
	for i, t := range taken {
		keys[i], until[i] = t.Key, sh.model.doc(t.Key).lease.until
	}
	sh.log(false, func(st store.Backend) error {
		for i, k := range keys { // what had run out then has not now
			docs, err := st.Load(context.Background(), keys[i:i+1], store.WithoutViews)
			if err != nil {
				return err
			}
			if l := docs[0].Lease; l.Holder != "" {
				if _, err := st.Release(context.Background(), l.Holder, []store.Held{{Key: k, Epoch: docs[0].Epoch}}); err != nil {
					return err
				}
			}
		}
		got, err := st.Lease(context.Background(), holder, termsUntil(until[0]), keys, true)
		for i := range got {
			if got[i].Epoch != taken[i].Epoch {
				return fmt.Errorf("lease of %s has epoch %d, and had %d", keys[i], got[i].Epoch, taken[i].Epoch)
			}
		}
		return err
	})
}

// termsUntil are those of a lease that ends then.
func termsUntil(t time.Time) store.LeaseTerms {
	return store.LeaseTerms{For: min(max(time.Until(t), time.Millisecond), store.MaxLease), Most: store.MaxLease}
}

// skewLease is what a clock that drifts and jumps says of a lease.
func (h *handle) skewLease(ctx context.Context, l *store.Lease) {
	l.Age, l.Left = h.skewed(ctx, l.Age), h.skewed(ctx, l.Left)
}

// Lengthen implements [store.Leaser].
func (h *handle) Lengthen(ctx context.Context, holder string, terms store.LeaseTerms, held []store.Held) (had []bool, err error) {
	sh, w := h.sh, h.p.w
	err = h.ofHolder(ctx, "lengthening of ", holder, held, func() ([]bool, error) {
		terms := h.jump(terms)
		got, err := sh.inner.Lengthen(context.Background(), holder, terms, held)
		for i, yes := range got {
			if !yes {
				continue
			}
			w.rare.Lengthened++
			d := sh.model.doc(held[i].Key)
			d.lease.lengthen(terms)
			until := d.lease.until
			if g := h.p.under(row(held[i].Key), held[i].Epoch); g != nil {
				g.until = until
			}
			sh.log(false, func(st store.Backend) error {
				_, err := st.Lengthen(context.Background(), holder, termsUntil(until), held[i:i+1])
				return err
			})
		}
		return got, err
	}, &had)
	return had, err
}

// Release implements [store.Leaser].
func (h *handle) Release(ctx context.Context, holder string, held []store.Held) (had []bool, err error) {
	sh, w := h.sh, h.p.w
	err = h.ofHolder(ctx, "giving back of ", holder, held, func() ([]bool, error) {
		got, err := sh.inner.Release(context.Background(), holder, held)
		for i, yes := range got {
			h.p.givenBack(row(held[i].Key), held[i].Epoch)
			if !yes {
				w.rare.StaleReleases++
				continue
			}
			w.rare.ReleasesTaken++
			sh.model.doc(held[i].Key).lease = modelLease{}
			sh.log(false, func(st store.Backend) error {
				_, err := st.Release(context.Background(), holder, held[i:i+1])
				return err
			})
		}
		return got, err
	}, &had)
	return had, err
}

// ofHolder changes leases, and checks whose they are.
func (h *handle) ofHolder(ctx context.Context, what, holder string, held []store.Held, do func() ([]bool, error), had *[]bool) error {
	sh, w := h.sh, h.p.w
	call := what + names(held, func(l *store.Held) store.Key { return l.Key })
	h.mayWrite(call)
	err := h.write(ctx, call, func(bool) error {
		want := make([]bool, len(held))
		for i, l := range held {
			d := sh.model.doc(l.Key)
			want[i] = d.lease.holder == holder && d.epoch == l.Epoch
			sh.touch(l.Key)
		}
		got, err := do()
		if err != nil {
			w.fail("%s %s: %v", h.p.name, call, err)
			return err
		}
		for i := range got {
			w.note(h.p.name, call, fmt.Sprint(got[i]))
			if got[i] != want[i] {
				w.fail("%s %s: that %s has %s is %t, want %t", h.p.name, call, holder, held[i].Key, got[i], want[i])
			}
		}
		sh.foreigner(h)
		*had = got
		return nil
	})
	if err != nil {
		h.failed()
	}
	return err
}

// failed says that a call about a lease did.
func (h *handle) failed() {
	if !h.p.dead.Load() { // many go on at once then
		h.unsure = true
	}
}

// checkGivenBack fails if a process whose Run has ended well still has leases.
func (w *world) checkGivenBack(p *process) {
	for k, d := range w.sh.model.docs {
		if l := &d.lease; l.by == p && !p.h.unsure {
			w.fail("Run of %s has returned, and %s has %s until %v", p.name, l.holder, k, l.until)
		}
	}
}
