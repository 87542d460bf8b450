package position

import "slices"

// seenLocked takes note of a number that was drawn.
func (t *Tracker) seenLocked(n Number) { t.seen = max(t.seen, n) }

// learnLocked takes note of a number that is complete.
func (t *Tracker) learnLocked(n Number) {
	if n > t.upTo {
		t.known.add(n)
	}
}

// holdLocked lets a live writer hold the completed position back as far as it
// has to.
func (t *Tracker) holdLocked(r *record) {
	switch {
	case r.life == nil:
		t.holding.put(&r.holding, r.claimed)
	case r.life.ledger.idle():
		// What it will write is above all that was drawn.
		t.holding.remove(&r.holding)
	default:
		t.holding.put(&r.holding, r.life.ledger.free)
	}
}

// ledgerLocked follows a change in the ledger of a writer of this process.
func (t *Tracker) ledgerLocked(r *record) {
	if written := r.life.ledger.written; written > r.at {
		r.at, r.wrote = written, written
		r.claimed = max(r.claimed, written)
	}
	t.holdLocked(r)
}

// moveLocked moves the completed position as far as it goes, and wakes who waited
// for that or for another change. It comes last in whatever changes anything.
func (t *Tracker) moveLocked() {
	before := t.upTo
	switch top := t.holding.top(); {
	case top != nil:
		t.upTo = max(t.upTo, top.number)
	case t.live > 0: // all are in this process, and idle
		t.upTo = max(t.upTo, t.seen)
	default:
		t.upTo = max(t.upTo, t.ended)
	}
	if len(t.known) > 0 {
		t.upTo = t.known.from(t.upTo)
	}
	t.seen = max(t.seen, t.upTo)
	if t.upTo > before {
		t.wakeLocked(&t.waiting, t.upTo)
	}
	for i := len(t.watched) - 1; i >= 0; i-- { // backward, as one can leave
		r := t.watched[i]
		t.wakeLocked(&r.waiting, t.completedLocked(r))
		if len(r.waiting) == 0 {
			t.watched = slices.Delete(t.watched, i, i+1)
		}
	}
	if t.signal != nil {
		close(t.signal)
		t.signal = nil
	}
}
