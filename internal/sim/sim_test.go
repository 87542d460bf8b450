package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/sqlite"
)

// result is how a run went.
type result struct {
	err   error
	sum   uint64
	rare  counters
	made  []uint32
	opt   options
	trace []string
}

// simulate runs one world.
func simulate(t *testing.T, backend string, seed uint64, c *choices, verbose bool) (r result) {
	t.Helper()
	defer func() { // as when a goroutine is left that waits for ever
		if v := recover(); v != nil {
			r.err = fmt.Errorf("panic: %v", v)
		}
	}()
	// Fake time stands still while a goroutine waits for a mutex, so a world may hang.
	watch := time.AfterFunc(time.Minute, func() {
		fmt.Fprintf(os.Stderr, "seed %d on %s has not ended within a minute\n", seed, backend)
	})
	defer watch.Stop()
	folder := ""
	if backend == "sqlite" {
		folder = scratch(t)
		defer os.RemoveAll(folder)
	}
	synctest.Test(t, func(t *testing.T) {
		w := &world{c: c, verbose: verbose, arrived: make(chan struct{}, 1), faults: true}
		time.Sleep(time.Duration(c.n(1_000_000)) * time.Nanosecond) // so that each world has random numbers of its own
		w.started = time.Now()
		w.opt = drawOptions(c, derived(seed))
		w.begin()
		opened := 0
		w.sh = newShared(w, func() store.Backend {
			opened++
			if backend != "sqlite" {
				return memory.New(nil)
			}
			st, err := sqlite.Open(filepath.Join(folder, fmt.Sprintf("%d.db", opened)), nil)
			if err != nil {
				t.Fatal(err)
			}
			return st
		})
		w.clients, w.followers = newClients(w), newFollowers(w.opt.followers)
		w.simulate()
		w.end()
		r = result{w.err, w.sum, w.rare, c.made, w.opt, w.trace}
		r.rare.Steps = w.steps
	})
	return r
}

// faultsUntil is after how long, in steps and in the world's time, the faults end.
const (
	faultSteps = 4000
	faultTime  = 3 * time.Minute
)

func (w *world) simulate() {
	for range w.opt.procs {
		w.bornAfter(of(w.c, time.Millisecond, time.Second))
	}
	w.run(func(bool) bool {
		return w.clients.done() && w.c.oneIn(40) || w.steps > faultSteps || time.Since(w.started) > faultTime
	})
	if w.err == nil {
		w.calm()
	}
	if w.err == nil {
		w.stopAll()
	}
}

// end lets everybody go.
func (w *world) end() {
	for _, p := range w.procs {
		p.dead.Store(true)
		p.cancel()
	}
	w.mu.Lock()
	w.free = true
	for _, k := range w.parked {
		close(k.goOn)
	}
	w.parked = nil
	w.mu.Unlock()
	// Slow folds of dead processes sleep for a while. Who is left then makes
	// synctest fail.
	time.Sleep(2 * time.Minute)
	w.sh.inner.Close()
}

// scratch is a folder in memory if there is such a thing: the disk is not what is
// tested here.
func scratch(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "refold-sim")
	if err != nil {
		folder = t.TempDir()
	}
	return folder
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestSeeds runs seeds on both backends, as many worlds at once as there are
// processors.
func TestSeeds(t *testing.T) {
	if os.Getenv("SIM_SEED") != "" {
		t.Skip("one seed is wanted")
	}
	first, n := number(t, "SIM_FIRST", 1), number(t, "SIM_SEEDS", defaultSeeds)
	rare, _ := seeds(t, "memory", first, n)
	seeds(t, "sqlite", first, number(t, "SIM_SQLITE", 20))
	if n < defaultSeeds {
		return
	}
	var b strings.Builder
	for _, c := range rare.each() {
		fmt.Fprintf(&b, "\n%9d  %s", c.n, c.name)
		if c.n == 0 && (first == 1 || n >= anySeeds) {
			t.Errorf("never happened: %s", c.name)
		}
	}
	t.Log(b.String())
}

// defaultSeeds, from the first one, are enough for everything rare to happen. If it
// begins elsewhere it takes more: the rarest thing happens once in 200 seeds.
const (
	defaultSeeds = 400
	anySeeds     = 5000
)

// seeds runs so many worlds, and returns what happened in them and the hash of all
// their traces.
func seeds(t *testing.T, backend string, first, n int) (rare counters, sum uint64) {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex
	failed := n // the lowest seed that fails, so that it does not depend on who is quicker
	t.Run(backend, func(t *testing.T) {
		workers := runtime.GOMAXPROCS(0)
		for worker := range workers {
			t.Run(strconv.Itoa(worker), func(t *testing.T) {
				t.Parallel()
				for i := worker; i < n; i += workers {
					seed := uint64(first + i)
					r := simulate(t, backend, seed, drawn(seed), false)
					if os.Getenv("SIM_SUMS") != "" {
						t.Logf("seed %d on %s: hash %016x", seed, backend, r.sum)
					}
					mu.Lock()
					if r.err != nil {
						failed = min(failed, i)
					}
					stop := failed < i
					rare.add(r.rare)
					sum += r.sum * (2*seed + 1)
					mu.Unlock()
					if r.err != nil {
						t.Logf("seed %d fails: %v", seed, r.err)
					}
					if r.err != nil || stop {
						return
					}
				}
			})
		}
	})
	if failed < n {
		seed := uint64(first + failed)
		report(t, backend, seed, simulate(t, backend, seed, drawn(seed), false))
	} else if n > 0 {
		t.Logf("%d seeds on %s in %v, %d steps, hash %016x", n, backend, time.Since(began).Round(time.Millisecond), rare.Steps, sum)
	}
	return rare, sum
}

// report shortens a run that failed, and prints how to run it again.
func report(t *testing.T, backend string, seed uint64, r result) {
	t.Helper()
	first := r.err
	if number(t, "SIM_SHORTEN", 400) == 0 {
		t.Errorf("seed %d on %s: %v", seed, backend, first)
		return
	}
	steps := r.rare.Steps
	made := shorten(r.made, number(t, "SIM_SHORTEN", 400), func(made []uint32) bool {
		next := simulate(t, backend, seed, given(made), false)
		if next.err == nil || next.rare.Steps > steps {
			return false
		}
		steps = next.rare.Steps
		return true
	})
	short := simulate(t, backend, seed, given(made), true)
	if first == nil {
		t.Errorf("seed %d on %s has failed, and does not fail again", seed, backend)
		return
	}
	t.Errorf("seed %d on %s: %v\nrun again: SIM_SEED=%d SIM_BACKEND=%s go test -run TestSeed$ ./internal/sim\n"+
		"shortened from %d steps to %d: %v\nSIM_CHOICES=%s\noptions %+v\n%s",
		seed, backend, first, seed, backend, r.rare.Steps, short.rare.Steps, short.err, format(made), short.opt,
		strings.Join(short.trace, "\n"))
}

// Worlds that found a fault far beyond the seeds that each change is tried with: a lease given back
// before its commit, a pause that stayed, a reader that kept the pool busy.
func TestSeedsThatFoundSomething(t *testing.T) {
	for _, seed := range []uint64{1796091689018628, 1796091689136043, 1796091689044830} {
		if r := simulate(t, "memory", seed, drawn(seed), false); r.err != nil {
			t.Errorf("seed %d: %v", seed, r.err)
		}
	}
}

func TestSeed(t *testing.T) {
	seed := number(t, "SIM_SEED", -1)
	if seed < 0 {
		t.Skip("SIM_SEED is not set")
	}
	c := drawn(uint64(seed))
	if s := os.Getenv("SIM_CHOICES"); s != "" {
		made, err := parse(s)
		if err != nil {
			t.Fatal(err)
		}
		c = given(made)
	}
	r := simulate(t, os.Getenv("SIM_BACKEND"), uint64(seed), c, true)
	t.Logf("options %+v\n%s\nhash %016x", r.opt, strings.Join(r.trace, "\n"), r.sum)
	if r.err != nil {
		t.Error(r.err)
	}
}
