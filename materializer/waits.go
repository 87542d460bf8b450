package materializer

import (
	"context"
	"fmt"
	"sync"

	"github.com/refold-go/refold/store"
)

// waits are the readers that wait for a document's view.
type waits struct {
	// mu guards the following field.
	mu    sync.Mutex
	byKey map[store.Key]map[*wait]struct{}
}

// wait is one of them. It is woken without being told what happened: it looks.
type wait struct{ wake chan struct{} }

func (w *wait) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // it has not looked since the last time
	}
}

func (ws *waits) add(k store.Key) *wait {
	w := &wait{wake: make(chan struct{}, 1)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byKey == nil {
		ws.byKey = make(map[store.Key]map[*wait]struct{})
	}
	if ws.byKey[k] == nil {
		ws.byKey[k] = make(map[*wait]struct{})
	}
	ws.byKey[k][w] = struct{}{}
	return w
}

func (ws *waits) remove(k store.Key, w *wait) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.byKey[k], w)
	if len(ws.byKey[k]) == 0 {
		delete(ws.byKey, k)
	}
}

func (ws *waits) notify(k store.Key) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.byKey[k] {
		w.notify()
	}
}

// await waits until look says that it has seen enough, or fails. It looks at
// once, and again each time the document's view may have changed.
func (m *Materializer) await(ctx context.Context, k store.Key, look func() (enough bool, err error)) error {
	w := m.waits.add(k)
	defer m.waits.remove(k, w)
	var elsewhere func()
	for {
		enough, err := look()
		if enough || err != nil {
			return err
		}
		if elsewhere == nil {
			elsewhere = m.watchElsewhere(ctx, w)
			defer elsewhere()
		}
		select {
		case <-w.wake:
		case <-m.ended:
			return m.notRunning()
		case <-ctx.Done():
			return fmt.Errorf("refold: waiting for %s: %w", k, context.Cause(ctx))
		}
	}
}

// watchElsewhere wakes w when another process may have committed, in a process
// that does not make the views itself. The function it returns ends that.
func (m *Materializer) watchElsewhere(ctx context.Context, w *wait) (stop func()) {
	f, ok := m.st.(store.Follower)
	if !ok || m.running.Load() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var g sync.WaitGroup
	g.Go(func() {
		for seen := uint64(0); ; {
			next, err := f.Follow(ctx, seen)
			if err != nil {
				return
			}
			seen = next
			w.notify()
		}
	})
	return func() {
		cancel()
		g.Wait()
	}
}
