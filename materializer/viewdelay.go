package materializer

import "time"

// mayDelay reports whether the views of a hand may be kept waiting: they are served, nobody makes
// room for a generation that is not, and Run goes on.
func (e *engine) mayDelay(h *hand) bool {
	if e.cfg.ViewDelay == 0 || h.aside || h.careful || e.step.Load() != 0 || e.urgent.Load() {
		return false
	}
	select {
	case <-e.stopping:
		return false
	default:
		return true
	}
}

// delay says how long the commits of a round may be kept waiting: not at all if somebody waits for
// the document. The time since which one lacks something is the store's, whose clock may differ; what
// is left of the delay is counted by a clock that nobody sets.
func (ws *waits) delay(b []*item, most time.Duration) {
	now := time.Now()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, it := range b {
		k := it.doc.Key
		k.Collection = it.of.name
		if len(ws.byKey[k]) == 0 {
			it.commit.By = now.Add(most - max(0, now.Sub(it.doc.Since.Time)))
		}
	}
}
