package inmemory

import (
	"sync"
	"sync/atomic"
)

// workers work on a queue.
type workers struct {
	queue queue
	all   sync.WaitGroup
	runs  atomic.Int64
}

// startWorkers starts n of them.
func startWorkers(m maker, q queue, n int, all []document) *workers {
	w := &workers{queue: q}
	for range n {
		w.all.Go(func() {
			mine := int64(0)
			q.work(func(id string) {
				mine++
				if d := &all[number(id)]; m.coalesces {
					d.seen.Store(d.signalled.Load())
				} else {
					d.seen.Add(1)
				}
			})
			w.runs.Add(mine)
		})
	}
	return w
}

// end stops the queue, waits for the workers and returns how many runs there
// were.
func (w *workers) end() int64 {
	w.queue.stop()
	w.all.Wait()
	return w.runs.Load()
}
