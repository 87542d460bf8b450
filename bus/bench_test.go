package bus_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/refold-go/refold/bus"
)

func TestPublishDoesNotAllocate(t *testing.T) {
	type event struct {
		name string
		n    int
	}
	b := bus.New[event]()
	s := b.Subscribe(16)
	buf := make([]event, 16)
	n := testing.AllocsPerRun(1000, func() {
		b.Publish(event{"a", 1})
		b.Publish(event{"b", 2})
		if _, err := s.Receive(t.Context(), buf); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

// BenchmarkPublish is the cost of one event, published and received.
func BenchmarkPublish(b *testing.B) {
	b.Run("nobody", func(b *testing.B) {
		events := bus.New[int]()
		for b.Loop() {
			events.Publish(1)
		}
	})
	b.Run("publisher=1/consumer=same goroutine", func(b *testing.B) {
		events := bus.New[int]()
		s := events.Subscribe(64)
		buf := make([]int, 64)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			events.Publish(i)
			if i++; i%64 == 0 {
				if _, err := s.Receive(context.Background(), buf); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	for _, publishers := range []int{1, 8} {
		b.Run(fmt.Sprintf("publisher=%d/consumer=own goroutine", publishers), func(b *testing.B) {
			const room = 1 << 16
			events := bus.New[int]()
			s := events.Subscribe(room)
			var consumer, all sync.WaitGroup
			var published, received atomic.Int64
			b.ReportAllocs()
			b.ResetTimer()
			consumer.Go(func() {
				buf := make([]int, 1024)
				for {
					n, err := s.Receive(context.Background(), buf)
					if err != nil {
						return
					}
					received.Add(int64(n))
				}
			})
			for range publishers {
				all.Go(func() {
					const block = 256
					for published.Add(block) < int64(b.N)+block {
						for i := range block {
							events.Publish(i)
						}
						for published.Load()-received.Load() > int64(room-(publishers+1)*block) {
							runtime.Gosched() // nobody is to lag here
						}
					}
				})
			}
			all.Wait()
			events.Close()
			consumer.Wait()
			b.StopTimer()
			if int(received.Load()) < b.N {
				b.Fatalf("received %d of %d", received.Load(), b.N)
			}
		})
	}
}
