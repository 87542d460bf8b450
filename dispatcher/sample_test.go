package dispatcher

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestSampleWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t, 0, 1)
		var waits []time.Duration
		table.SampleWaits(func(d time.Duration) { waits = append(waits, d) })
		all, buf := keys(3*sampleEvery), make([]Ticket, 1)
		for i := range sampleEvery {
			table.Signal(all[i]) // the first one is measured
			time.Sleep(time.Millisecond)
		}
		for i := range all[sampleEvery:] {
			table.Take(t.Context(), buf)
			table.Done(buf, make([]Result, 1), nil)
			time.Sleep(time.Second)
			table.Signal(all[sampleEvery+i])
		}
		// The second one is queued behind 63 others, and one is taken each second.
		want := []time.Duration{sampleEvery * time.Millisecond, (sampleEvery - 1) * time.Second}
		if len(waits) < 2 || !slices.Equal(waits[:2], want) {
			t.Errorf("waits %v, want first %v", waits, want)
		}
	})
}
