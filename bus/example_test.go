package bus_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/refold-go/refold/bus"
)

// A subscriber reads what its events tell of once at the start, and again
// whenever it fell behind.
func Example() {
	b := bus.New[string]()
	changed := b.Subscribe(2)
	b.Publish("n1")
	b.Publish("n2")
	b.Publish("n3") // one too many
	b.Close()

	buf := make([]string, 8)
	for {
		n, err := changed.Receive(context.Background(), buf)
		switch {
		case errors.Is(err, bus.ErrLagged):
			changed = b.Subscribe(1024) // first this, so that nothing falls in between
			fmt.Println("reading everything again")
		case err != nil:
			fmt.Println(err)
			return
		default:
			fmt.Println("changed:", buf[:n])
		}
	}
	// Output:
	// reading everything again
	// bus: closed
}
