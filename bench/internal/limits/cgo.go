package limits

// static void nothing(void) {}
import "C"

import (
	"time"

	"github.com/refold-go/refold/bench/internal/harness"
)

// cgoCall is what each crossing to SQLite costs before SQLite does anything.
func cgoCall(env harness.Env) (harness.Figures, error) {
	n := env.Size.Of(10_000_000, 1000)
	began := time.Now()
	for range n {
		C.nothing()
	}
	return harness.Figures{"ns/call": float64(time.Since(began).Nanoseconds()) / float64(n)}, nil
}
