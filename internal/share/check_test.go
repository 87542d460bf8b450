//go:build unix

package share

import (
	"cmp"
	"slices"
	"testing"
)

// holding is what the logs say of one lease of a document.
type holding struct {
	epoch int64
	// asked is when the call began that got it, and had when it returned. It is held
	// at least until surely, as long as it is not given up.
	asked, had, surely int64
	givenUp            int64 // when that began; 0 if never
	runs               []run
}

type run struct{ begun, ended int64 }

// free returns from when on nobody may be said to have been in the way.
func (h *holding) free() int64 {
	if h.givenUp > 0 {
		return min(h.givenUp, h.surely)
	}
	return h.surely
}

// tally is what was counted.
type tally struct{ leases, runs, accepted, refused, takenOver int }

// checkLogs checks what all processes have logged: no lease is had while another one
// holds the document, so no two runs overlap while a lease is held; nothing is accepted
// twice for one state; applied never falls; and whatever is accepted is accepted under
// the latest lease that there was.
func checkLogs(t *testing.T, logs map[string][]event) (n tally) {
	documents := make(map[string][]event)
	for _, events := range logs {
		for _, e := range events {
			documents[e.document] = append(documents[e.document], e)
		}
	}
	for document, events := range documents {
		holdings := holdingsOf(t, document, events)
		for i, h := range holdings {
			n.leases++
			n.runs += len(h.runs)
			for _, r := range h.runs {
				if r.begun < h.asked {
					t.Errorf("%s: a run began under epoch %d before that was asked for", document, h.epoch)
				}
			}
			if i == 0 {
				continue
			}
			before := holdings[i-1]
			if h.had < before.free() {
				t.Errorf("%s: epoch %d was had while %d was held, %.3f s before it was free", document, h.epoch, before.epoch, float64(before.free()-h.had)/1e9)
			}
			if before.givenUp == 0 || before.givenUp > h.had {
				n.takenOver++
			}
			for _, r := range h.runs {
				for _, b := range before.runs {
					if r.begun < b.ended && b.begun < r.ended && r.begun < before.free() {
						t.Errorf("%s: runs under epochs %d and %d overlap", document, before.epoch, h.epoch)
					}
				}
			}
		}
		checkCommits(t, document, events, &n)
	}
	return n
}

// holdingsOf returns the leases of a document in order of epoch.
func holdingsOf(t *testing.T, document string, events []event) []*holding {
	byEpoch := make(map[int64]*holding)
	for _, e := range events {
		if e.kind == leased {
			if byEpoch[e.epoch] != nil {
				t.Errorf("%s: epoch %d was given twice", document, e.epoch)
			}
			byEpoch[e.epoch] = &holding{epoch: e.epoch, asked: e.from, had: e.to, surely: e.from + aLease.Nanoseconds()}
		}
	}
	for _, e := range events {
		h := byEpoch[e.epoch]
		if h == nil {
			t.Errorf("%s: %s under epoch %d, which nobody had", document, e.kind, e.epoch)
			continue
		}
		switch e.kind {
		case lengthened:
			h.surely = max(h.surely, e.from+aLease.Nanoseconds())
		case givingUp:
			if h.givenUp == 0 || e.from < h.givenUp {
				h.givenUp = e.from
			}
		case begun:
			h.runs = append(h.runs, run{begun: e.from, ended: e.from})
		case ended:
			h.runs[len(h.runs)-1].ended = e.from
		}
	}
	holdings := make([]*holding, 0, len(byEpoch))
	for _, h := range byEpoch {
		holdings = append(holdings, h)
	}
	slices.SortFunc(holdings, func(a, b *holding) int { return cmp.Compare(a.epoch, b.epoch) })
	return holdings
}

// checkCommits checks what was accepted, in order of epoch and, under one, of time.
func checkCommits(t *testing.T, document string, events []event, n *tally) {
	var commits []event
	for _, e := range events {
		switch e.kind {
		case accepted:
			commits = append(commits, e)
		case refused:
			n.refused++
		}
	}
	slices.SortFunc(commits, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.from, b.from))
	})
	n.accepted += len(commits)
	applied := int64(0)
	for _, c := range commits {
		// Of a process that was killed the last acceptance may not be in the log.
		if c.loaded < applied {
			t.Errorf("%s: %d over %d was accepted under epoch %d, and %d had been accepted", document, c.applied, c.loaded, c.epoch, applied)
		}
		applied = max(applied, c.applied)
	}
}
