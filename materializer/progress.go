package materializer

import (
	"sync"
	"time"
)

// progress is how fast generations are built, as this process has seen it. The zero
// value knows of none.
type progress struct {
	mu   sync.Mutex // guards the following field
	seen map[string]seen
}

// seen is how many documents were dirty when they were last counted, and how many fewer
// a second there were of late.
type seen struct {
	at    time.Time
	dirty int64
	rate  float64
}

// lateness is for how long what was seen weighs in the rate.
const lateness = 10 * time.Second

// observe takes up a count, and returns the rate.
func (p *progress) observe(own string, dirty int64, now time.Time) (rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, known := p.seen[own]
	d := now.Sub(last.at)
	if known && d < lookBuild/2 {
		return last.rate
	}
	next := seen{at: now, dirty: dirty}
	if known {
		now := float64(last.dirty-dirty) / d.Seconds()
		weight := min(1, float64(d)/float64(lateness))
		if last.rate == 0 {
			weight = 1
		}
		next.rate = max(last.rate+weight*(now-last.rate), 0)
	}
	if p.seen == nil {
		p.seen = make(map[string]seen)
	}
	p.seen[own] = next
	return next.rate
}

func (p *progress) forget(own string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, own)
}
