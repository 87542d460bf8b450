package faults

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/refold-go/refold/internal/faultvfs"
	"github.com/refold-go/refold/store"
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

// While SQLite has no memory left for it, what is large is refused; when there is
// memory again it goes on by itself.
func TestMemoryLimited(t *testing.T) {
	s := newSystem(t, filepath.Join(t.TempDir(), "app.db"))
	s.fill(1000)
	faultvfs.LimitMemory(256 << 10)
	defer faultvfs.LimitMemory(-1)
	s.open()
	for range 10 {
		err := s.append(t.Context(), 1<<20)
		if e, ok := errors.AsType[sqlite3.Error](err); !ok || e.Code != sqlite3.ErrNomem || errors.Is(err, store.ErrInDoubt) {
			t.Errorf("append of a megabyte: %v, want it refused for want of memory", err)
		}
	}
	faultvfs.LimitMemory(-1)
	s.fill(1 << 20)
	s.check()
}
