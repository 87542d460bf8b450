package sim

import (
	"maps"
	"time"
)

// begin says what the first programs are made of. Some derived collections come later.
func (w *world) begin() {
	w.released = released{collection: 1}
	later := false
	for _, name := range w.opt.kinds {
		if later = later || w.opt.upgrades > 0 && w.c.oneIn(4); later {
			w.released[name] = 0
		} else {
			w.released[name] = 1
		}
	}
}

// program returns what the program of a process that is born now is made of: mostly the
// newest versions.
func (w *world) program() released {
	if len(w.procs) > 0 && w.faults && w.opt.shared && w.opt.upgrades > 0 && w.c.oneIn(4) {
		return maps.Clone(w.procs[w.c.n(len(w.procs))].code)
	}
	return maps.Clone(w.released)
}

// upgrade releases a new version of something.
func (w *world) upgrade() {
	name := of(w.c, append([]string{collection}, w.opt.kinds...)...)
	for _, kind := range w.opt.kinds { // what is made of others comes last
		if w.released[kind] == 0 {
			name = kind
			break
		}
	}
	w.opt.upgrades--
	w.released[name]++
	w.rare.Upgrades++
	w.note("a new version is released of", name)
}

// deploy begins a process of a new version, beside the others or instead of one of them.
func (w *world) deploy() {
	w.upgrade()
	if n := len(w.sh.working); n > 0 && (!w.opt.shared || w.c.oneIn(2)) {
		p := w.sh.working[w.c.n(n)]
		if !p.stopping {
			w.note(p.name, "is told to stop for another version")
			p.stopping = true
			p.stop()
		}
	}
	w.bornAfter(of(w.c, time.Millisecond, 300*time.Millisecond, 2*time.Second))
}

// newest reports whether the process has the newest version of everything.
func (p *process) newest() bool { return maps.Equal(p.code, p.w.released) }

// retireOld stops the old programs where one of them would keep the new ones from working.
func (w *world) retireOld() {
	for _, p := range w.living() {
		if !w.opt.shared && !p.newest() && !p.stopping {
			w.note(p.name, "is told to stop: it is old")
			p.stopping = true
			p.stop()
		}
	}
}

// derived reports whether the world of a seed has derived collections.
func derived(seed uint64) bool { return seed%3 == 0 }
