package materializer

import (
	"context"

	"github.com/refold-go/refold/internal/yield"
)

// keep looks after the generations: it learns of switches.
func (m *Materializer) keep(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
		case <-m.switched:
		}
		yield.At(ctx, "woken to keep")
		if ctx.Err() != nil {
			return nil
		}
		if err := m.refresh(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn().Err(err).Msg("cannot read the collections")
		}
	}
}

// heardOfSwitch is called when another generation of a collection is served: who waits
// for its documents looks at others now.
func (m *Materializer) heardOfSwitch(string) {
	m.waits.notifyAll()
	select {
	case m.switched <- struct{}{}:
	default:
	}
}
