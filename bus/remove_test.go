package bus

import (
	"context"
	"slices"
	"testing"
)

// TestEndedSubscriptionsCostNothing looks inside: whoever has lagged or is
// closed is not gone through any more, and holds no events.
func TestEndedSubscriptionsCostNothing(t *testing.T) {
	b := New[*int]()
	expect := func(want ...*Subscription[*int]) {
		t.Helper()
		var got []*Subscription[*int]
		if p := b.subscribers.Load(); p != nil {
			got = *p
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d subscribers, want %d", len(got), len(want))
		}
	}
	lagging, closing, draining := b.Subscribe(2), b.Subscribe(3), b.Subscribe(20)
	b.Publish(new(1), new(2))
	expect(lagging, closing, draining)
	b.Publish(new(3))
	expect(closing, draining)
	closing.Close()
	expect(draining)
	b.Publish(new(4))

	if _, err := draining.Receive(context.Background(), make([]*int, 3)); err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, e := range draining.buffer.slots {
		if e != nil {
			held++
		}
	}
	if held != 1 {
		t.Errorf("%d events are held, want the one that was not received", held)
	}

	b.Close()
	expect()
	draining.Close()
	for _, s := range []*Subscription[*int]{lagging, closing, draining} {
		if s.buffer.slots != nil {
			t.Error("a buffer is kept after the end")
		}
	}
}
