package materializertest

import (
	"testing/synctest"
	"time"
)

// settled waits until all other goroutines of the bubble wait for something, and
// reports whether there is a bubble. Outside of one it returns at once.
func settled() (bubble bool) {
	defer func() { bubble = recover() == nil }() // synctest.Wait panics outside
	synctest.Wait()
	return true
}

// aYearPasses lets more than a year pass in a bubble, so that the year, the month,
// the day, the weekday, and all below are others. Outside of one, time passes by
// itself, and not much.
func aYearPasses() {
	if settled() {
		time.Sleep((400*24+7)*time.Hour + 11*time.Minute + 13*time.Second + 17*time.Nanosecond)
	}
}
