package worker

import (
	"errors"
	"fmt"
	"time"
)

// ErrTimeLimit means that a run took longer than it may.
var ErrTimeLimit = errors.New("worker: time limit exceeded")

// Limit is a limit on the time of one run. Nothing is interrupted by it:
// whoever runs asks between two steps. It goes by the monotonic clock, so that
// setting the wall clock changes nothing. The zero value is no limit. A Limit
// may be copied and used by all goroutines.
type Limit struct {
	start time.Time
	after time.Duration // 0 is no limit
}

// StartLimit returns a limit that is over when d has passed from now on. If d is
// 0 or less it never is.
func StartLimit(d time.Duration) Limit {
	if d <= 0 {
		return Limit{}
	}
	return Limit{start: time.Now(), after: d}
}

// Check returns nil before the limit is over, and then an error that is an
// [ErrTimeLimit] and names the limit. It costs one look at the clock, and
// nothing where there is no limit.
func (l Limit) Check() error {
	if l.after == 0 || time.Since(l.start) < l.after {
		return nil
	}
	return fmt.Errorf("%w (%v)", ErrTimeLimit, l.after)
}
