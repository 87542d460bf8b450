package worker

import (
	"math"
	"time"

	"github.com/refold-go/refold/internal/yield"
)

// Backoff says how long to wait before trying again: exponentially longer with
// each attempt, with full jitter, which spreads out what failed together
// ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015). The zero
// value works. A Backoff has no state and may be used by all goroutines.
type Backoff struct {
	// First is the longest delay after the first attempt; 0 or less is 100 ms.
	First time.Duration
	// Cap is the longest delay after any attempt; 0 or less is 1 minute.
	Cap time.Duration
	// Factor is by how much the longest delay grows with each attempt; less than 1
	// is 2.
	Factor float64
}

// Delay returns a random delay, evenly spread from 0 to Ceiling(attempt), both
// included. Attempt is the number of attempts that have failed, 1 or more; less
// counts as 1.
func (b Backoff) Delay(attempt int) time.Duration {
	return time.Duration(yield.Random(uint64(b.Ceiling(attempt)) + 1)) // #nosec G115 -- it is never negative
}

// Ceiling returns the longest delay that Delay may return for this attempt:
// First × Factor^(attempt-1), but no more than Cap.
func (b Backoff) Ceiling(attempt int) time.Duration {
	first, limit, factor := b.First, b.Cap, b.Factor
	if first <= 0 {
		first = 100 * time.Millisecond
	}
	if limit <= 0 {
		limit = time.Minute
	}
	if !(factor >= 1) { // also for NaN
		factor = 2
	}
	// Large attempts give +Inf, which is not below the limit.
	ceiling := float64(first) * math.Pow(factor, float64(max(attempt, 1)-1))
	if ceiling < float64(limit) {
		return time.Duration(ceiling)
	}
	return limit
}
