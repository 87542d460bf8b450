package materializer

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// errSwitched ends a wait that begins again, since something else is served.
var errSwitched = errors.New("refold: another generation is served")

// begin returns a context that ends with [errSwitched] when another generation is served.
func (ws *waits) begin(ctx context.Context) (begun context.Context, end func()) {
	begun, cancel := context.WithCancelCause(ctx)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.begun == nil {
		ws.begun = make(map[*context.CancelCauseFunc]struct{})
	}
	ws.begun[&cancel] = struct{}{}
	return begun, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		delete(ws.begun, &cancel)
		cancel(nil)
	}
}

// switched says that another generation is served.
func (ws *waits) switched() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for cancel := range ws.begun {
		(*cancel)(errSwitched)
	}
}

// whileServed calls wait, and again if another generation of a derived collection is served when
// it has ended than when it began: that may be made of others, and then what was waited for is not
// what is read. The context of wait ends with [errSwitched] when this materializer learns of that.
func (m *Materializer) whileServed(ctx context.Context, wait func(context.Context) error) error {
	for {
		begun, end := m.waits.begin(ctx)
		before, err := m.servedNow(begun)
		if err == nil {
			err = wait(begun)
		}
		switched := errors.Is(context.Cause(begun), errSwitched)
		end()
		if ctx.Err() != nil && switched {
			return fmt.Errorf("refold: waiting for what is served: %w", context.Cause(ctx))
		}
		if err != nil && !errors.Is(err, ErrParked) && !switched || ctx.Err() != nil {
			return err
		}
		if now, err2 := m.servedNow(ctx); err2 != nil {
			return err2
		} else if !switched && maps.Equal(before, now) {
			return err
		}
	}
}

// servedNow returns what is served of each derived collection, and what it is made of.
func (m *Materializer) servedNow(ctx context.Context) (map[string]string, error) {
	stored, err := m.st.Collections(ctx)
	if err != nil {
		return nil, fmt.Errorf("refold: reading the collections: %w", err)
	}
	served := make(map[string]string)
	for i := range stored {
		if c := &stored[i]; c.Derived {
			served[c.Name] = fmt.Sprint(c.Version, m.sourcesOf(c))
		}
	}
	return served, nil
}
