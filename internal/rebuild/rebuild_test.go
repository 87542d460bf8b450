//go:build unix

package rebuild

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

const perDocument, writers, kills = 10, 4, 3

// number is what a variable of the environment says, or n.
func number(name string, n int) int {
	if given, err := strconv.Atoi(os.Getenv(name)); err == nil && given > 0 {
		return given
	}
	return n
}

// world is a file with documents, as its test sees it. Nobody folds in this process.
type world struct {
	t         *testing.T
	path      string
	m         *materializer.Materializer
	chains    *chains
	documents int

	mu        sync.Mutex // guards the following field
	latencies []time.Duration
}

func newWorld(t *testing.T) *world {
	documents := 20_000
	if testing.Short() {
		documents = 1500
	}
	w := &world{t: t, path: filepath.Join(t.TempDir(), "chains.db"), documents: number("REFOLD_REBUILD_DOCUMENTS", documents)}
	st, err := sqlite.Open(w.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.m, err = materializer.New(st, materializer.Config{}); err != nil {
		t.Fatal(err)
	}
	if w.chains, err = materializer.Register(w.m, spec(1)); err != nil {
		t.Fatal(err)
	}
	for first := 0; first < w.documents; first += 500 {
		var batch []materializer.Change
		for i := first; i < min(first+500, w.documents); i++ {
			ops := make([]link, perDocument)
			for j := range ops {
				ops[j] = link{Text: fmt.Sprint("operation ", j, " of ", i)}
			}
			batch = append(batch, w.chains.Change(strconv.Itoa(i), ops...))
		}
		if _, err := w.m.Append(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// write appends to any documents and reads others until ctx ends. A read never fails, is
// of a whole view of one version, and neither a document nor its version goes back.
func (w *world) write(ctx context.Context, n int) {
	pause := time.Duration(number("REFOLD_REBUILD_PAUSE", 2000)) * time.Microsecond
	random := rand.New(rand.NewPCG(uint64(n), 1))
	applied, version := make(map[string]int64), 0
	for ctx.Err() == nil {
		began := time.Now()
		_, err := w.chains.Append(context.Background(), strconv.Itoa(random.IntN(w.documents)), link{Text: fmt.Sprint("of writer ", n)})
		took := time.Since(began)
		if err != nil {
			w.t.Errorf("append: %v", err)
			return
		}
		w.mu.Lock()
		w.latencies = append(w.latencies, took)
		w.mu.Unlock()
		id := strconv.Itoa(random.IntN(w.documents))
		v, err := w.chains.Get(context.Background(), id)
		switch {
		case err != nil:
			w.t.Errorf("read of %s: %v", id, err)
			return
		case v.Applied < perDocument || v.State.N != v.Applied || v.State.By != v.Version:
			w.t.Errorf("%s at %d of version %d is %+v", id, v.Applied, v.Version, v.State)
			return
		case v.Applied < applied[id] || v.Version < version:
			w.t.Errorf("%s went from %d to %d, its version from %d to %d", id, applied[id], v.Applied, version, v.Version)
			return
		}
		applied[id], version = v.Applied, v.Version
		time.Sleep(pause)
	}
}

// during has the writers write while f runs, and returns the median latency of appends.
func (w *world) during(f func()) time.Duration {
	w.latencies = nil
	ctx, cancel := context.WithCancel(w.t.Context())
	var g sync.WaitGroup
	for n := range writers {
		g.Go(func() { w.write(ctx, n) })
	}
	f()
	cancel()
	g.Wait()
	slices.Sort(w.latencies)
	return w.latencies[len(w.latencies)/2]
}

// drain waits until everything is in what is served.
func (w *world) drain() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	if err := w.m.Drain(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// building reports whether the new version is not served yet.
func (w *world) building() bool {
	w.t.Helper()
	all, err := w.m.Generations(w.t.Context(), "chains")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, g := range all {
		if g.Version == 2 && g.State == materializer.Serving {
			return false
		}
	}
	return true
}

// check compares all views with a fold from scratch.
func (w *world) check() {
	w.t.Helper()
	f, n := spec(2).Fold, 0
	for v, err := range w.chains.All(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		var want state
		for op, err := range w.chains.Operations(w.t.Context(), v.ID, 1) {
			if err != nil {
				w.t.Fatal(err)
			}
			if want, err = f(want, op); err != nil {
				w.t.Fatal(err)
			}
		}
		if v.Version != 2 || v.Applied != v.Head || v.State != want {
			w.t.Fatalf("%s is %+v, want %+v", v.ID, v, want)
		}
		n++
	}
	if n != w.documents {
		w.t.Errorf("there are %d documents, want %d", n, w.documents)
	}
}

// A new generation over a history is killed three times, while four writers append and
// read: it ends, and equals a fold from scratch.
func TestF13_RebuildIsKilledWhileWritersAppend(t *testing.T) {
	w := newWorld(t)
	began := time.Now()
	cmd := start(t, w.path, "1")
	w.drain()
	plain := time.Since(began)
	before := w.during(func() { time.Sleep(time.Second + time.Duration(w.documents)*50*time.Microsecond) })
	kill(t, cmd)

	perLife := w.documents * perDocument / (kills + 1)
	cmd, slow := startSlow(t, w.path, perLife)
	defer func() { kill(t, cmd) }()
	began = time.Now()
	killed := 0
	during := w.during(func() {
		poll := max(10*time.Millisecond, time.Duration(w.documents)*5*time.Microsecond) // a look takes time in proportion to what is dirty
		for deadline := time.Now().Add(time.Hour); ; time.Sleep(poll) {
			if !w.building() {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the build does not end")
			}
			select {
			case <-slow:
				kill(t, cmd)
				if killed++; killed < kills {
					cmd, slow = startSlow(t, w.path, perLife)
				} else {
					cmd, slow = start(t, w.path, "1 2"), nil
				}
			default:
			}
		}
	})
	rebuilt := time.Since(began)
	if killed != kills {
		t.Errorf("it was killed %d times, want %d", killed, kills)
	}
	w.drain()
	w.check()
	ops := float64(w.documents * perDocument)
	t.Logf("%d documents, %.0f operations: folded in %v (%.0f/s), rebuilt beside %d writers and %d kills in %v (%.0f/s, %.2f of that)",
		w.documents, ops, plain.Round(time.Millisecond), ops/plain.Seconds(), writers, kills, rebuilt.Round(time.Millisecond), ops/rebuilt.Seconds(), plain.Seconds()/rebuilt.Seconds())
	t.Logf("median latency of an append: %v before, %v meanwhile (%.2f)", before, during, float64(during)/float64(before))
}
