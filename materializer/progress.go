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

// seen is how many documents there were to be folded when they were last counted, and how many
// fewer a second there were of late: less than 0 if there were more.
type seen struct {
	first, at time.Time
	left      float64
	rate      float64
}

// lateness is for how long what was seen weighs in the rate. It is long against the ups and downs of
// a generation that is made as fast as it gets dirty: those are no progress.
const lateness = 30 * time.Second

// observe takes up a count, and returns the rate: 0 if there are not fewer.
func (p *progress) observe(own string, left int64, now time.Time) (rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, known := p.seen[own]
	d := now.Sub(last.at)
	if known && d < lookBuild/2 {
		return max(last.rate, 0)
	}
	next := seen{first: now, at: now, left: float64(left)}
	if known {
		next.first = last.first
		weight := min(1, float64(d)/float64(min(lateness, now.Sub(last.first))))
		next.rate = last.rate + weight*((last.left-next.left)/d.Seconds()-last.rate)
	}
	if p.seen == nil {
		p.seen = make(map[string]seen)
	}
	p.seen[own] = next
	return max(next.rate, 0)
}

func (p *progress) forget(own string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, own)
}
