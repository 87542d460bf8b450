package bus_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/refold-go/refold/bus"
)

// stamp is an event that says whose and which it is.
type stamp struct{ publisher, number int }

// TestNoWakeUpIsLost has consumers that wait again and again, with buffers that
// hold everything, and would hang if one publication failed to wake them.
func TestNoWakeUpIsLost(t *testing.T) {
	const publishers, each, consumers = 4, 25_000, 3
	b := bus.New[stamp]()
	var publish, consume sync.WaitGroup
	for range consumers {
		s := b.Subscribe(publishers * each)
		consume.Go(func() {
			var last [publishers]int
			buf := make([]stamp, 64)
			for total := 0; total < publishers*each; {
				n, err := s.Receive(t.Context(), buf)
				if err != nil {
					t.Errorf("Receive: %v after %d", err, total)
					return
				}
				for _, e := range buf[:n] {
					if e.number != last[e.publisher]+1 {
						t.Errorf("publisher %d: %d after %d", e.publisher, e.number, last[e.publisher])
						return
					}
					last[e.publisher] = e.number
				}
				total += n
			}
		})
	}
	for p := range publishers {
		publish.Go(func() {
			for i := 1; i <= each; i++ {
				b.Publish(stamp{p, i})
				if i%16 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	publish.Wait()
	consume.Wait()
	b.Close()
}

// TestW3_BurstIntoASmallBuffer loses nothing in silence: the subscriber is told,
// and is as good as new once it has subscribed again.
func TestW3_BurstIntoASmallBuffer(t *testing.T) {
	const burst = 1_000_000
	b := bus.New[int]()
	s := b.Subscribe(16)
	for i := range burst {
		b.Publish(i)
	}
	expectEnd(t, s, bus.ErrLagged)

	s = b.Subscribe(16)
	b.Publish(burst)
	buf := make([]int, 16)
	if n, err := s.Receive(t.Context(), buf); n != 1 || err != nil || buf[0] != burst {
		t.Fatalf("Receive = %v, %v", buf[:n], err)
	}
}

// TestW3_BurstBesideAConsumer is the same with a consumer at work: what it has
// got by the time that it is told of its lag has no hole in it.
func TestW3_BurstBesideAConsumer(t *testing.T) {
	const burst = 1_000_000
	b := bus.New[int]()
	s := b.Subscribe(16)
	var consumer sync.WaitGroup
	consumer.Go(func() {
		buf := make([]int, 16)
		next, lags := -1, 0
		for {
			n, err := s.Receive(t.Context(), buf)
			for _, e := range buf[:n] {
				if next >= 0 && e != next {
					t.Errorf("got %d, want %d", e, next)
					return
				}
				next = e + 1
			}
			switch {
			case errors.Is(err, bus.ErrLagged):
				lags++
				next = -1
				s = b.Subscribe(16)
			case err != nil:
				if !errors.Is(err, bus.ErrClosed) {
					t.Errorf("Receive: %v", err)
				}
				t.Logf("%d lags", lags)
				return
			}
		}
	})
	for i := range burst {
		b.Publish(i)
	}
	b.Close()
	consumer.Wait()
}

// TestCloseRaces closes buses and subscriptions while everything else goes on.
func TestCloseRaces(t *testing.T) {
	for range 300 {
		b := bus.New[int]()
		var all sync.WaitGroup
		start := make(chan struct{})
		goes := func(f func()) {
			all.Go(func() {
				<-start
				f()
			})
		}
		for range 2 {
			goes(func() {
				for i := range 200 {
					b.Publish(i, i)
				}
			})
			goes(b.Close)
		}
		for range 3 {
			s := b.Subscribe(32)
			goes(s.Close)
			goes(func() { consume(t, s) })
			goes(func() { consume(t, b.Subscribe(32)) })
		}
		close(start)
		all.Wait()
	}
}

// consume receives until the end, which must be one of the two.
func consume(t *testing.T, s *bus.Subscription[int]) {
	buf := make([]int, 8)
	for {
		if _, err := s.Receive(context.Background(), buf); err != nil {
			if !errors.Is(err, bus.ErrLagged) && !errors.Is(err, bus.ErrClosed) {
				t.Errorf("Receive: %v", err)
			}
			return
		}
	}
}
