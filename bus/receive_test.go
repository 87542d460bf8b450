package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/bus"
)

func TestReceiveHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		b := bus.New[int]()
		s := b.Subscribe(4)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, why)
		defer cancel()

		start := time.Now()
		n, err := s.Receive(ctx, make([]int, 4))
		if n != 0 || !errors.Is(err, why) {
			t.Fatalf("Receive = %d, %v; want the cause %v", n, err, why)
		}
		if d := time.Since(start); d != time.Hour {
			t.Fatalf("returned after %v", d)
		}

		// The subscription lives on, and nothing is taken out of it for a context
		// that has ended.
		b.Publish(1, 2)
		if n, err := s.Receive(ctx, make([]int, 4)); n != 0 || !errors.Is(err, why) {
			t.Fatalf("Receive = %d, %v; want the cause %v", n, err, why)
		}
		expect(t, s, 1, 2)
	})
}

// TestReceiveCalledBackAndCancelledAtOnce lets both ways out of waiting be open
// at the same moment, and looks that the next wait is an honest one.
func TestReceiveCalledBackAndCancelledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New[int]()
		s := b.Subscribe(4)
		for i := range 2000 {
			ctx, cancel := context.WithCancel(t.Context())
			var n int
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				n, err = s.Receive(ctx, make([]int, 4))
			}()
			synctest.Wait()
			if i%2 == 0 {
				b.Publish(i)
				cancel()
			} else {
				cancel()
				b.Publish(i)
			}
			<-done
			switch {
			case n == 1 && err == nil:
			case n == 0 && errors.Is(err, context.Canceled):
				expect(t, s, i)
			default:
				t.Fatalf("Receive = %d, %v", n, err)
			}
		}
	})
}
