package faults

import (
	"errors"
	"os"
	"testing"

	"github.com/refold-go/refold/internal/faultvfs"
)

// Each allocation of SQLite fails, alone and with all later ones, while the script
// of TestFaultAtEachCall runs.
func TestFaultAtEachAllocation(t *testing.T) {
	root := memoryFolder(t)
	step := stride(67, 499)
	for _, lasting := range []bool{false, true} {
		name := map[bool]string{false: "once", true: "lasting"}[lasting]
		var count lives
		points := eachPoint(t, name, 1, step, func(n int64) (bool, error) {
			l, err := newLife(root, n)
			if err != nil {
				return false, err
			}
			l.arm, l.lasting = func() { faultvfs.FailAllocation(n, lasting) }, lasting
			l.heal = func() { faultvfs.FailAllocation(0, false) }
			defer l.heal()
			fired, err := l.run(func() bool { _, failed := faultvfs.Allocations(); return failed > 0 })
			count.add(l)
			return fired, errors.Join(err, l.end())
		})
		t.Logf("%s: %d faults, %d steps refused, %d in doubt, %d faults that no step showed, %d handles opened again",
			name, points, count.refusals.Load(), count.doubts.Load(), count.silent.Load(), count.reopened.Load())
		if points < 10000/step && os.Getenv(envPoint) == "" {
			t.Errorf("only %d allocations failed", points)
		}
	}
}
