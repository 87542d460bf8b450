package materializer

import "sync"

// gate lets writes of runs through until Run returns, and lets Run wait for
// those that are under way: nothing is written afterwards.
type gate struct {
	mu     sync.Mutex // guards the following fields; never held while blocked
	shut   bool
	inside int
	empty  chan struct{} // made by close if somebody is inside, closed by the last
}

// enter reports whether the caller may write; then it must leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// close lets nobody in any more and waits until nobody is inside.
func (g *gate) close() {
	g.mu.Lock()
	g.shut = true
	if g.inside == 0 {
		g.mu.Unlock()
		return
	}
	if g.empty == nil {
		g.empty = make(chan struct{})
	}
	empty := g.empty
	g.mu.Unlock()
	<-empty
}
