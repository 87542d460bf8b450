package bus_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/bus"
)

// drain receives until there is nothing left to receive at once.
func drain[T any](t *testing.T, s *bus.Subscription[T]) ([]T, error) {
	t.Helper()
	var all []T
	buf := make([]T, 7)
	for {
		ctx, cancel := context.WithCancel(t.Context())
		n, err := receiveNow(ctx, cancel, s, buf)
		all = append(all, buf[:n]...)
		if errors.Is(err, context.Canceled) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// receiveNow is Receive in a bubble, ended as soon as it waits.
func receiveNow[T any](ctx context.Context, cancel func(), s *bus.Subscription[T], buf []T) (n int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		n, err = s.Receive(ctx, buf)
	}()
	synctest.Wait()
	cancel()
	<-done
	return n, err
}

func expect[T comparable](t *testing.T, s *bus.Subscription[T], want ...T) {
	t.Helper()
	got, err := drain(t, s)
	if err != nil {
		t.Fatalf("Receive: %v", err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("received %v, want %v", got, want)
	}
}

func expectEnd[T any](t *testing.T, s *bus.Subscription[T], want error) {
	t.Helper()
	if n, err := s.Receive(t.Context(), make([]T, 4)); n != 0 || !errors.Is(err, want) {
		t.Fatalf("Receive = %d, %v; want 0, %v", n, err, want)
	}
}

func TestEverySubscriberGetsEveryEventInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New[int]()
		b.Publish(0) // nobody is there
		first := b.Subscribe(100)
		b.Publish(1)
		second := b.Subscribe(100)
		b.Publish(2, 3, 4)
		b.Publish()
		b.Publish(5)
		expect(t, first, 1, 2, 3, 4, 5)
		expect(t, second, 2, 3, 4, 5)
	})
}

func TestZeroValueIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bus.Bus[string]
		s := b.Subscribe(1)
		b.Publish("a")
		expect(t, s, "a")
		b.Publish("b")
		expect(t, s, "b")
	})
}

func TestLagStartsExactlyBeyondTheBuffer(t *testing.T) {
	for _, size := range []int{1, 2, 15, 16, 17, 100} {
		synctest.Test(t, func(t *testing.T) {
			b := bus.New[int]()
			full, over, atOnce := b.Subscribe(size), b.Subscribe(size), b.Subscribe(size)
			for i := range size {
				b.Publish(i)
			}
			got, err := drain(t, full)
			if err != nil || len(got) != size {
				t.Fatalf("size %d: a full buffer gave %d events and %v", size, len(got), err)
			}
			if got, err := drain(t, atOnce); err != nil || len(got) != size {
				t.Fatalf("size %d: a full buffer gave %d events and %v", size, len(got), err)
			}
			b.Publish(size)
			expectEnd(t, over, bus.ErrLagged)
			expect(t, full, size)

			// The events of one call are taken all or not at all.
			b.Publish(make([]int, size)...)
			expectEnd(t, atOnce, bus.ErrLagged)
			expect(t, full, make([]int, size)...)
			b.Publish(make([]int, size+1)...)
			expectEnd(t, full, bus.ErrLagged)
		})
	}
}

func TestWatermill247_382_SlowSubscriberHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New[int]()
		slow, fast := b.Subscribe(3), b.Subscribe(3)
		for i := range 1000 {
			b.Publish(i)
			expect(t, fast, i)
		}
		expectEnd(t, slow, bus.ErrLagged)
		expectEnd(t, slow, bus.ErrLagged) // it stays so
		slow.Close()
		expectEnd(t, slow, bus.ErrLagged)
		b.Close()
		expectEnd(t, slow, bus.ErrLagged)
		expectEnd(t, fast, bus.ErrClosed)
	})
}

func TestWatermill317_SubscribeAfterClose(t *testing.T) {
	b := bus.New[int]()
	b.Close()
	b.Close()
	s := b.Subscribe(1)
	b.Publish(1, 2, 3)
	expectEnd(t, s, bus.ErrClosed)
	s.Close()
	s.Close()
	expectEnd(t, s, bus.ErrClosed)
}

func TestCloseLetsTheBufferBeDrained(t *testing.T) {
	b := bus.New[int]()
	s, dropped := b.Subscribe(10), b.Subscribe(10)
	b.Publish(1, 2, 3)
	b.Close()
	b.Publish(4)
	buf := make([]int, 2)
	for _, want := range [][]int{{1, 2}, {3}} {
		n, err := s.Receive(t.Context(), buf)
		if err != nil || !slices.Equal(buf[:n], want) {
			t.Fatalf("Receive = %v, %v; want %v", buf[:n], err, want)
		}
	}
	expectEnd(t, s, bus.ErrClosed)
	dropped.Close()
	expectEnd(t, dropped, bus.ErrClosed)
}

func TestClosedSubscriptionGetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bus.New[int]()
		first, second, third := b.Subscribe(2), b.Subscribe(2), b.Subscribe(2)
		b.Publish(1)
		second.Close()
		second.Close()
		b.Publish(2)
		expectEnd(t, second, bus.ErrClosed)
		expect(t, first, 1, 2)
		expect(t, third, 1, 2)
	})
}

func TestEndWakesAWaitingReceive(t *testing.T) {
	for name, row := range map[string]struct {
		end  func(*bus.Bus[int], *bus.Subscription[int])
		want error
	}{
		"bus closed":          {func(b *bus.Bus[int], _ *bus.Subscription[int]) { b.Close() }, bus.ErrClosed},
		"subscription closed": {func(_ *bus.Bus[int], s *bus.Subscription[int]) { s.Close() }, bus.ErrClosed},
		"lagged at once":      {func(b *bus.Bus[int], _ *bus.Subscription[int]) { b.Publish(1, 2, 3) }, bus.ErrLagged},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := bus.New[int]()
				s := b.Subscribe(2)
				var err error
				go func() { _, err = s.Receive(t.Context(), make([]int, 1)) }()
				synctest.Wait()
				row.end(b, s)
				synctest.Wait()
				if !errors.Is(err, row.want) {
					t.Fatalf("Receive = %v, want %v", err, row.want)
				}
			})
		})
	}
}

func TestMisusePanics(t *testing.T) {
	b := bus.New[int]()
	s := b.Subscribe(1)
	for name, f := range map[string]func(){
		"no buffer":     func() { b.Subscribe(0) },
		"negative":      func() { b.Subscribe(-1) },
		"nothing to do": func() { _, _ = s.Receive(t.Context(), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Fatal("no panic")
				}
			}()
			f()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := bus.New[int]().Subscribe(1)
		go func() { _, _ = s.Receive(t.Context(), make([]int, 1)) }()
		synctest.Wait()
		defer s.Close()
		defer func() {
			if recover() == nil {
				t.Fatal("no panic at a second Receive")
			}
		}()
		_, _ = s.Receive(t.Context(), make([]int, 1))
	})
}

// TestModel compares a bus with lists, over random steps.
func TestModel(t *testing.T) {
	type model struct {
		sub  *bus.Subscription[int]
		size int
		want []int
		end  error
	}
	rapid.Check(t, func(t *rapid.T) {
		b := bus.New[int]()
		var subs []*model
		next, closed := 0, false
		pick := func(t *rapid.T) *model {
			if len(subs) == 0 {
				t.Skip("no subscription")
			}
			return rapid.SampledFrom(subs).Draw(t, "subscription")
		}
		t.Repeat(map[string]func(*rapid.T){
			"subscribe": func(t *rapid.T) {
				size := rapid.IntRange(1, 40).Draw(t, "size")
				m := &model{sub: b.Subscribe(size), size: size}
				if closed {
					m.end = bus.ErrClosed
				}
				subs = append(subs, m)
			},
			"publish": func(t *rapid.T) {
				events := make([]int, rapid.IntRange(0, 12).Draw(t, "events"))
				for i := range events {
					next++
					events[i] = next
				}
				b.Publish(events...)
				clear(events) // the bus has kept nothing of it
				for _, m := range subs {
					switch {
					case m.end != nil || len(events) == 0:
					case len(m.want)+len(events) > m.size:
						m.want, m.end = nil, bus.ErrLagged
					default:
						for i := range events {
							m.want = append(m.want, next-len(events)+1+i)
						}
					}
				}
			},
			"receive": func(t *rapid.T) {
				m := pick(t)
				if len(m.want) == 0 && m.end == nil {
					t.Skip("it would wait")
				}
				buf := make([]int, rapid.IntRange(1, 20).Draw(t, "room"))
				n, err := m.sub.Receive(context.Background(), buf)
				if len(m.want) == 0 {
					if n != 0 || err != m.end {
						t.Fatalf("Receive = %d, %v; want %v", n, err, m.end)
					}
					return
				}
				want := m.want[:min(len(buf), len(m.want))]
				if err != nil || !slices.Equal(buf[:n], want) {
					t.Fatalf("Receive = %v, %v; want %v", buf[:n], err, want)
				}
				m.want = m.want[n:]
			},
			"close subscription": func(t *rapid.T) {
				m := pick(t)
				m.sub.Close()
				m.want = nil
				if m.end == nil {
					m.end = bus.ErrClosed
				}
			},
			"close bus": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "close") > 0 {
					t.Skip("not yet")
				}
				b.Close()
				closed = true
				for _, m := range subs {
					if m.end == nil {
						m.end = bus.ErrClosed
					}
				}
			},
		})
	})
}
