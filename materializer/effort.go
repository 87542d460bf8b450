package materializer

import (
	"context"
	"time"

	"github.com/refold-go/refold/internal/yield"
)

// effort is how much of the pool makes generations that are not served. There are steps of it,
// each for a generation that has come no nearer to what is served with the one before:
//
//	BuildShare ─▶ twice as many workers, until they are as many as the others ─▶ they never rest
//	           ─▶ the others rest as long as they have worked ─▶ 4 times ─▶ 16 times as long
//
// On the last step it has nearly all the processors, so that a build ends if these can fold faster
// than operations come. If it comes no nearer with that for a minute, what is served does not rest any more, until
// it is tried again.
type effort struct {
	// workers make generations that are not served, beside the others.
	workers int
	// unrested tells that they do not rest while documents that are served wait.
	unrested bool
	// rests is for how many times as long as they have worked the others rest.
	rests int
}

const (
	// raiseAfter is for how long a generation may come no nearer to what is served until more is
	// given to it, and easeFor until that is tried again which did not help.
	raiseAfter = 5 * time.Second
	easeFor    = 10 * time.Minute
	// mostRests is that of the last step.
	mostRests = 16
)

// effort returns a step; those behind the last one are like it.
func (c *Config) effort(step int) effort {
	f := effort{workers: c.asideWorkers()}
	for ; step > 0 && f.workers < c.Workers; step-- {
		f.workers = min(2*f.workers, c.Workers)
	}
	if f.unrested = step > 0; step > 1 {
		f.rests = 1
	}
	for ; step > 2 && f.rests < mostRests; step-- {
		f.rests *= 4
	}
	return f
}

// effort returns what there is now.
func (m *Materializer) effort() effort { return m.cfg.effort(int(m.step.Load())) }

// exert takes a step, up or down. That it has fewer workers ends no run.
func (k *keeper) exert(step int) {
	if int(k.step.Swap(int32(step))) == step { // #nosec G115 -- there are few
		return
	}
	if k.extra != nil {
		close(k.extra)
		k.extra = nil
	}
	if more := k.effort().workers - k.cfg.asideWorkers(); more > 0 {
		k.extra = make(chan struct{})
		k.aside(more, k.extra)
	}
	k.lookAside()
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.exerted)
	k.exerted = make(chan struct{})
}

// exertForAll takes the highest step of those of all builds.
func (k *keeper) exertForAll() {
	step := 0
	for _, b := range k.builds {
		step = max(step, b.step)
	}
	k.exert(step)
}

// restless returns the last step on which what is served does not rest.
func (c *Config) restless() (step int) {
	for c.effort(step+1).rests == 0 {
		step++
	}
	return step
}

// owe notes that a worker of the pool has to rest for what it has done.
func (e *engine) owe(worked time.Duration) {
	if rests := e.effort().rests; rests > 0 && e.aside.busy.Load() > 0 {
		e.owed.Add(int64(worked) * int64(rests))
	}
}

// makeRoom rests for what was done since the last rest, by whichever worker, or until another
// step is taken: for five seconds at the most, since a single fold may take long.
func (e *engine) makeRoom(ctx context.Context) {
	if e.owed.Load() == 0 {
		return // most often; the swap would be a write for each hand
	}
	owed := time.Duration(e.owed.Swap(0))
	if owed <= 0 {
		return
	}
	e.mu.Lock()
	exerted := e.exerted
	e.mu.Unlock()
	if e.effort().rests == 0 || e.aside.busy.Load() == 0 {
		return
	}
	timer := time.NewTimer(min(owed, raiseAfter))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-exerted:
	case <-timer.C:
	}
	yield.At(ctx, "made room")
}
