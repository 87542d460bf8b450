package durable

import (
	"sync"
	"sync/atomic"
)

// concurrently calls do for 0 to n-1 from so many goroutines, and returns the
// first error.
func concurrently(n, goroutines int, do func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, goroutines)
	for range goroutines {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}
