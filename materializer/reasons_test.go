package materializer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// ended waits for Run to return by itself.
func (r *rig) ended() error {
	r.stop = nil
	return <-r.done
}

// Why Run returned can be told from its error, in each case from all others.
func TestReasonsOfRun(t *testing.T) {
	type reasons struct{ stuck, closed, claimed, started, planted bool }
	of := func(err error) reasons {
		_, stuck := errors.AsType[*materializer.StuckError](err)
		return reasons{
			stuck:   stuck,
			closed:  errors.Is(err, materializer.ErrClosed),
			claimed: errors.Is(err, materializer.ErrClaimed),
			started: errors.Is(err, materializer.ErrStarted),
			planted: errors.Is(err, errPlanted),
		}
	}
	for _, c := range []struct {
		name string
		run  func(t *testing.T, r *rig, h *hold) error
		want reasons
	}{
		{"stopped", func(t *testing.T, r *rig, h *hold) error {
			r.start()
			r.append("a", "x")
			return r.halt()
		}, reasons{}},
		{"stopped with a cause", func(t *testing.T, r *rig, h *hold) error {
			r.start()
			settle()
			r.stop(errPlanted)
			return r.halt()
		}, reasons{}},
		{"stopped before it began", func(t *testing.T, r *rig, h *hold) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return r.m.Run(ctx)
		}, reasons{}},
		{"stuck", func(t *testing.T, r *rig, h *hold) error {
			r.start()
			r.append("a", "hold")
			<-h.reached
			return r.halt()
		}, reasons{stuck: true}},
		{"closed", func(t *testing.T, r *rig, h *hold) error {
			r.start()
			settle()
			r.st.Close()
			r.m.Append(t.Context(), r.texts.Change("a", word{"x"}))
			return r.ended()
		}, reasons{closed: true}},
		{"closed with a document in hand", func(t *testing.T, r *rig, h *hold) error {
			r.start()
			r.append("a", "hold")
			<-h.reached
			r.st.Close()
			close(h.goOn)
			return r.ended()
		}, reasons{closed: true}},
		{"closed and stuck", func(t *testing.T, r *rig, h *hold) error {
			r.start()
			r.append("a", "hold")
			<-h.reached
			r.st.Close()
			return r.ended()
		}, reasons{closed: true, stuck: true}},
		{"closed before", func(t *testing.T, r *rig, h *hold) error {
			r.st.Close()
			return r.m.Run(t.Context())
		}, reasons{closed: true}},
		{"claimed", func(t *testing.T, r *rig, h *hold) error {
			newRig(t, r.st, materializer.Config{}, spec()).start()
			settle()
			return r.m.Run(t.Context())
		}, reasons{claimed: true}},
		{"called twice", func(t *testing.T, r *rig, h *hold) error {
			r.start()
			settle()
			return r.m.Run(t.Context())
		}, reasons{started: true}},
		{"called again afterwards", func(t *testing.T, r *rig, h *hold) error {
			r.start().halt()
			return r.m.Run(t.Context())
		}, reasons{started: true}},
		{"the store fails before it begins", func(t *testing.T, r *rig, h *hold) error {
			st := newTap(memory.New(nil))
			st.on(claimed, func() error { return errPlanted })
			next := newRig(t, st, materializer.Config{}, spec())
			err := next.m.Run(t.Context())
			next.start()
			settle()
			if err := next.halt(); err != nil {
				t.Errorf("the second call returned %v, want nil", err)
			}
			return err
		}, reasons{planted: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHold()
				r := newRig(t, memory.New(nil), materializer.Config{Grace: -1}, specOf(h.fold))
				err := c.run(t, r, h)
				if got := of(err); got != c.want {
					t.Errorf("Run returned %v: %+v, want %+v", err, got, c.want)
				}
				if (err == nil) != (c.want == reasons{}) {
					t.Errorf("Run returned %v", err)
				}
				select {
				case <-h.goOn:
				default:
					close(h.goOn)
				}
			})
		})
	}
}
