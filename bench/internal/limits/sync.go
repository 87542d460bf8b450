package limits

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/refold-go/refold/bench/internal/harness"
)

var syncFigures = []string{"syncs/s", "p50 µs", "p99 µs"}

// appendAndSync writes pages at the end of a file, each with its sync.
func appendAndSync(env harness.Env) (harness.Figures, error) {
	return syncs(env, func(f *os.File, i int, page []byte) error {
		_, err := f.Write(page)
		return err
	})
}

// overwriteAndSync writes the same pages again, as in a log that is reused.
func overwriteAndSync(env harness.Env) (harness.Figures, error) {
	return syncs(env, func(f *os.File, i int, page []byte) error {
		_, err := f.WriteAt(page, int64(i%16)*int64(len(page)))
		return err
	})
}

func syncs(env harness.Env, write func(f *os.File, i int, page []byte) error) (harness.Figures, error) {
	f, err := os.Create(filepath.Join(env.Dir, "sync"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page, took := make([]byte, 4096), make([]time.Duration, env.Size.Of(5000, 50))
	began := time.Now()
	for i := range took {
		start := time.Now()
		if err := write(f, i, page); err != nil {
			return nil, err
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		took[i] = time.Since(start)
	}
	elapsed := time.Since(began)
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Nanoseconds()) / 1e3
	}
	return harness.Figures{"syncs/s": float64(len(took)) / elapsed.Seconds(), "p50 µs": at(0.5), "p99 µs": at(0.99)}, nil
}
