package materializer

import (
	"context"
	"fmt"
	"sync"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// waits are the readers that wait for a document's view.
type waits struct {
	// mu guards the following field.
	mu    sync.Mutex
	byKey map[store.Key]map[*wait]struct{}
	// begun has what ends those that wait for all that what is served is made of.
	begun map[*context.CancelCauseFunc]struct{}
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

func (ws *waits) notifyAll() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, of := range ws.byKey {
		for w := range of {
			w.notify()
		}
	}
}

// await waits until look says that it has seen enough, or fails. It looks at
// once, and again each time the document's view may have changed.
func (m *Materializer) await(ctx context.Context, k store.Key, look func() (enough bool, err error)) error {
	if enough, err := look(); enough || err != nil {
		return err // most reads need not wait
	}
	w := m.waits.add(k)
	defer m.waits.remove(k, w)
	watching := false
	for {
		enough, err := look()
		if enough || err != nil {
			return err
		}
		if ctx.Value(inUpdate{m}) != nil {
			return fmt.Errorf("refold: waiting for %s: %w", k, ErrNested)
		}
		if !watching {
			watching = true
			defer m.hear(ctx, k, w)()
		}
		var over error
		select {
		case <-w.wake: // before anything else: the view may be there
		default:
			select {
			case <-w.wake:
			case <-m.ended:
				over = m.notRunning()
			case <-ctx.Done():
				over = fmt.Errorf("refold: waiting for %s: %w", k, context.Cause(ctx))
			}
		}
		yield.At(ctx, "woken to read")
		if over != nil {
			return over
		}
	}
}

// hear wakes w when somebody else than this materializer may have committed the
// document, if this one does not make all views itself: another materializer over the
// same store, or another process. It wakes at least once, since that may have
// happened before. The function it returns ends it.
func (m *Materializer) hear(ctx context.Context, k store.Key, w *wait) (stop func()) {
	if m.running.Load() && !m.cfg.Shared {
		return func() {}
	}
	stop = m.listen(ctx, w, func(other Key) bool { return m.bare(other) == k })
	w.notify()
	return stop
}
