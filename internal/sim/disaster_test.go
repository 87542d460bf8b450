package sim

import (
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// freeze stops a process as the system would, for a while.
func (w *world) freeze() {
	alive := w.living()
	if len(alive) == 0 {
		return
	}
	p := alive[w.c.n(len(alive))]
	d := of(w.c, 1500*time.Millisecond, 700*time.Millisecond, 5*time.Second, 15*time.Second)
	w.note(p.name, "is stopped for", d.String())
	p.frozen = time.Now().Add(d)
	w.rare.Freezes++
}

// disaster kills somebody, perhaps, or cuts the power.
func (w *world) disaster(able []*parking) bool {
	if p := w.committing(able); p != nil && w.kills < 6 && w.c.oneIn(w.opt.kills/8) {
		w.kills++
		w.kill(p, true)
		w.bornAfter(of(w.c, time.Millisecond, 300*time.Millisecond))
		return true
	}
	if w.opt.kills > 0 && w.kills < 6 && w.c.oneIn(w.opt.kills) {
		if alive := w.living(); len(alive) > 0 {
			w.kills++
			victim := alive[w.c.n(len(alive))]
			if n := len(w.sh.working); n > 0 && w.c.oneIn(2) {
				victim = w.sh.working[w.c.n(n)] // one of whom most can go wrong
			}
			w.kill(victim, !w.c.oneIn(3))
			w.bornAfter(of(w.c, time.Millisecond, 50*time.Millisecond, 300*time.Millisecond, 3*time.Second))
			return true
		}
	}
	if w.opt.cuts > 0 && w.cuts < 2 && w.c.oneIn(w.opt.cuts) {
		w.cuts++
		w.cut()
		return true
	}
	if w.opt.upgrades > 0 && w.c.oneIn(w.opt.deploys) {
		w.deploy()
		return true
	}
	if w.opt.freezes > 0 && w.c.oneIn(w.opt.freezes) {
		w.freeze()
		return true
	}
	if w.opt.stops > 0 && w.c.oneIn(w.opt.stops) {
		for _, p := range w.procs {
			if !p.dead.Load() && !p.stopping && w.sh.works(p) {
				w.note(p.name, "is told to stop")
				p.stopping = true
				p.stop()
				w.rare.Stops++
				w.bornAfter(of(w.c, time.Millisecond, 2*time.Second))
				return true
			}
		}
	}
	return false
}

// committing returns a process whose commit under a lease is on its way, if there is
// one.
func (w *world) committing(able []*parking) *process {
	if !w.opt.shared || w.opt.kills == 0 {
		return nil
	}
	for _, k := range able {
		if k.sent != nil && strings.HasPrefix(k.point, "before commit") {
			return k.p
		}
	}
	return nil
}

// kill ends a process as the system would. What it had sent to the store may
// still arrive.
func (w *world) kill(p *process, arrives bool) {
	w.note(p.name, "is killed")
	w.rare.Kills++
	w.each(func(_ string, version int, names []string) {
		for _, name := range names {
			if strings.Contains(name, "<") && w.count(name).Dirty > 0 {
				w.rare.KilledBeforeEffects++
			}
		}
	})
	for _, c := range w.sh.model.collections {
		if slices.ContainsFunc(c.beside, func(version int) bool { return version > c.served }) {
			w.rare.KilledBuilding++
		}
	}
	w.mu.Lock()
	var its []*parking
	for _, k := range w.parked {
		if k.p == p {
			its = append(its, k)
		}
	}
	w.parked = slices.DeleteFunc(w.parked, func(k *parking) bool { return k.p == p })
	w.mu.Unlock()
	p.account()
	p.dead.Store(true)
	for _, k := range its {
		switch {
		case k.sent != nil && arrives:
			w.late = append(w.late, lateCall{
				name: p.name + " " + k.name + " " + k.point,
				at:   time.Now().Add(of(w.c, 0, 2*time.Millisecond, 55*time.Millisecond, 305*time.Millisecond, 800*time.Millisecond) + w.opt.lease*time.Duration(w.c.n(4))),
				run:  k.sent,
			})
		case k.point == announcing:
			w.rare.KilledBeforeAnnouncement++
		}
	}
	w.sh.buried(p)
	w.clients.buried(p)
	p.cancel()
	for _, k := range its {
		close(k.goOn)
	}
}

// cut is a power cut: nobody lives on, nothing is on its way any more, and the
// views that were stored since the last synced write may be as they were before.
func (w *world) cut() {
	w.note("the power is cut")
	for _, p := range w.procs {
		if !p.dead.Load() {
			w.kill(p, false)
		}
	}
	w.late = nil
	synctest.Wait()
	w.sh.cut()
	w.rare.Cuts++
	w.bornAfter(of(w.c, time.Second, 10*time.Second))
	if w.opt.procs > 1 {
		w.bornAfter(2 * time.Second)
	}
}
