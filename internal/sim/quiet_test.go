package sim

import (
	"context"
	"slices"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// root is the context by which the root looks into a process.
var root = context.WithValue(context.Background(), rootKey{}, true)

// troubleLasts is how long documents may back off after an error of the store.
const troubleLasts = 12 * time.Second

// delayLasts is how long other delays are at most.
const delayLasts = 3 * time.Second

// checkQuiet is called when nothing goes on without time passing: then nobody may
// be idle and dirty in the processes that make the views.
func (w *world) checkQuiet() {
	for _, p := range w.sh.working {
		if p.dead.Load() || p.stopping || p.returned || !p.up || p.frozen.After(time.Now()) {
			return
		}
		if time.Since(p.h.trouble) < troubleLasts || p.h.followed != p.h.foreign || p.h.delayed > 0 {
			return
		}
	}
	folding := slices.ContainsFunc(w.sh.working, func(p *process) bool { return len(p.folding) > 0 })
	for _, p := range w.sh.working {
		s := p.m.Stats()
		p.resting = p.h.paused && w.sh.model.paused && s.Queued+s.Running == 0 && !folding
	}
	seen := make(map[store.Key]time.Time)
	for row, err := range w.sh.inner.Runnable(context.Background(), w.servedNames()) {
		if err != nil {
			w.fail("reading the runnable documents: %v", err)
			return
		}
		if row.Wait > 0 || row.Lease.Left > 0 {
			continue
		}
		if row.Lease.Holder != "" {
			w.checkLeftBehind(row.Key, folding)
			continue
		}
		if w.checkIdle(row.Key) {
			// The table may have had no room for its delay; then the store is read when
			// that is over.
			seen[row.Key] = time.Now()
			if at, ok := w.idle[row.Key]; ok {
				seen[row.Key] = at
			}
			if w.opt.queue >= w.opt.docs && !w.opt.derived || time.Since(seen[row.Key]) > delayLasts {
				w.fail("%s is dirty and idle, and nobody will look", row.Key)
			}
		}
	}
	w.idle = seen
}

// checkIdle reports whether a runnable document is idle wherever somebody could work
// on it. It fails if it is queued beside an idle worker.
func (w *world) checkIdle(k store.Key) bool {
	idle := w.anyMakes(k)
	for _, p := range w.sh.working {
		if !w.makes(p, k) {
			continue
		}
		stats := p.m.Stats()
		x, err := p.m.Explain(root, k)
		switch {
		case err != nil:
			w.fail("explaining %s: %v", k, err)
		case !x.Running || x.StoreErrors > 0:
			idle = false
		case x.State == materializer.StateQueued && stats.Running < w.opt.workers:
			w.fail("%s is queued, and no worker takes it although there are %d and %d documents running", k, w.opt.workers, stats.Running)
		}
		idle = idle && x.State == materializer.StateIdle && stats.Queued+stats.Running == 0
	}
	return idle
}

// checkLeftBehind fails if nobody takes up what was left behind. A lane does so one
// after the other.
func (w *world) checkLeftBehind(k store.Key, folding bool) {
	if d := w.sh.model.doc(k); w.anyMakes(k) && !folding && time.Since(d.lease.until) > delayLasts {
		w.fail("%s was left behind by %s %v ago, and nobody takes it up", k, d.lease.holder, time.Since(d.lease.until))
	}
}

// servedNames returns what is served, and the mappings that feed it.
func (w *world) servedNames() []string {
	names := []string{collection}
	for _, name := range w.opt.kinds {
		if c := w.sh.model.collections[name]; c != nil && c.served > 0 {
			names = append(names, name)
			for _, source := range c.sources[c.served] {
				names = append(names, name+"<"+source)
			}
		}
	}
	return names
}

// makes reports whether a process has the code that makes a row.
func (w *world) makes(p *process, k store.Key) bool {
	n := w.sh.model.generation(k.Collection)
	return p.code[n.Name] == n.Version
}

func (w *world) anyMakes(k store.Key) bool {
	return slices.ContainsFunc(w.sh.working, func(p *process) bool { return w.makes(p, k) })
}
