package sim

import (
	"slices"
	"time"
)

// granted is a process's own record of a lease that it was given. Its pool and its
// lane may both have one of a document, of which one has run out.
type granted struct {
	holder string
	epoch  int64
	until  time.Time
	// void tells that it was taken away: by a discard, or by another holder when it had
	// run out.
	void bool
}

// holding reports whether the process has the lease of a document which has not run
// out.
func (p *process) holding(id string) bool {
	return slices.ContainsFunc(p.granted[id], func(g *granted) bool { return !g.void && g.until.After(time.Now()) })
}

// under returns the lease that it was given under an epoch, or nil.
func (p *process) under(id string, epoch int64) *granted {
	for _, g := range p.granted[id] {
		if g.epoch == epoch {
			return g
		}
	}
	return nil
}

// givenBack takes away what it was given under an epoch.
func (p *process) givenBack(id string, epoch int64) {
	p.granted[id] = slices.DeleteFunc(p.granted[id], func(g *granted) bool { return g.epoch == epoch })
}

// voids says that a lease is nobody's any more.
func (l *modelLease) voids(id string) {
	if l.by == nil {
		return
	}
	for _, g := range l.by.granted[id] {
		g.void = true
	}
}
