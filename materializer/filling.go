package materializer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// lookForFilling is how often who waits for a derived collection to be filled looks,
// beside being woken: it may be filled by another process.
const lookForFilling = time.Second

// waitForFilling waits until what is served of derived collections is filled, if mappings of
// them are among the names. It reports whether it has waited.
func (m *Materializer) waitForFilling(ctx context.Context, names []string) (waited bool, err error) {
	for i, name := range names {
		name, _, mapping := strings.Cut(name, "<")
		if !mapping || i > 0 && strings.HasPrefix(names[i-1], name+"<") {
			continue
		}
		had, err := m.waitUntilFilled(ctx, name)
		if waited = waited || had; err != nil {
			return waited, err
		}
	}
	return waited, nil
}

func (m *Materializer) waitUntilFilled(ctx context.Context, name string) (waited bool, err error) {
	if filled, err := m.filled(ctx, name); filled || err != nil {
		return false, err
	}
	if ctx.Value(inUpdate{m}) != nil {
		return false, fmt.Errorf("refold: waiting for %s: %w", name, ErrNested)
	}
	key := Key{Collection: name}
	w := m.waits.add(key)
	defer m.waits.remove(key, w)
	timer := time.NewTimer(lookForFilling)
	defer timer.Stop()
	for {
		if filled, err := m.filled(ctx, name); filled || err != nil {
			return true, err
		}
		var over error
		select {
		case <-w.wake:
		case <-timer.C:
			timer.Reset(lookForFilling)
		case <-m.ended:
			over = m.notRunning()
		case <-ctx.Done():
			over = fmt.Errorf("refold: waiting for %s: %w", name, context.Cause(ctx))
		}
		yield.At(ctx, "woken to look whether it is filled")
		if over != nil {
			return true, over
		}
	}
}

// filled reports whether what is served of a derived collection was made by somebody, and
// has all that its sources have had.
func (m *Materializer) filled(ctx context.Context, name string) (bool, error) {
	all, err := m.st.Generations(ctx, name)
	for _, g := range all {
		if g.State == store.Serving {
			return g.Version > 0 && g.Filled, err
		}
	}
	return len(all) == 0, err // it was dropped
}
