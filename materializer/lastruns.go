package materializer

import (
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

// lastRuns remembers the latest runs, for who asks about a document: as many as
// keepRuns, whatever number of documents there is. Writing is what happens all
// the time, so it is a ring, and asking looks through it.
type lastRuns struct {
	mu   sync.Mutex // guards the following fields
	ring []lastRun
	next int
}

const keepRuns = 4096

type lastRun struct {
	key store.Key
	LastRun
}

// LastRun is how the latest run of a document went.
type LastRun struct {
	// At is when it was stored.
	At time.Time
	// Fold is how long the fold took, Duration how long it took until the view was
	// stored.
	Fold, Duration time.Duration
	Operations     int
	Outcome        RunOutcome
}

func (l *lastRuns) record(b []*item, outcomes []store.Outcome, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, it := range b {
		r := lastRun{it.doc.Key, LastRun{now, it.took, now.Sub(it.began), it.result.n, outcomeOf(it, outcomes[i])}}
		if len(l.ring) < keepRuns {
			l.ring = append(l.ring, r)
			continue
		}
		l.ring[l.next] = r
		l.next = (l.next + 1) % keepRuns
	}
}

// of returns the latest run of a document, or nil if it is not known any more.
func (l *lastRuns) of(k store.Key) *LastRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.ring {
		if r := &l.ring[(l.next+len(l.ring)-1-i)%len(l.ring)]; r.key == k {
			return new(r.LastRun)
		}
	}
	return nil
}
