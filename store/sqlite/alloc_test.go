//go:build !race

package sqlite

import "testing"

// An exact number, so that whoever adds an allocation to appending has to say why.
// It is of a group of one, with its BEGIN and COMMIT; most are the driver's, which
// takes a few for each statement.
func TestAllocationsOfAnAppend(t *testing.T) {
	s := fresh(t, &Options{Sync: SyncNormal})
	appends := one("a", "body")
	f := func() { mustAppend(t, s, appends) }
	for range 100 {
		f()
	}
	const want = 24
	if got := testing.AllocsPerRun(500, f); got != want {
		t.Errorf("an append takes %v allocations, want %d", got, want)
	}
}
