package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/internal/faultvfs"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// A mode is a way in which calls fail.
type mode struct {
	name string
	faultvfs.Fault
}

var modes = []mode{
	{"io-once", faultvfs.Fault{Kinds: faultvfs.All}},
	{"io-lasting", faultvfs.Fault{Kinds: faultvfs.All, Lasting: true}},
	{"full-once", faultvfs.Fault{Kinds: faultvfs.Write | faultvfs.ShmMap, Effect: faultvfs.Full}},
	{"full-lasting", faultvfs.Fault{Kinds: faultvfs.Write | faultvfs.ShmMap, Effect: faultvfs.Full, Lasting: true}},
	{"torn", faultvfs.Fault{Kinds: faultvfs.Write, Effect: faultvfs.Torn}},
}

// memoryFolder returns a folder that is made of memory, where there is one: these
// tests make thousands of files.
func memoryFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "refold")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// envPoint runs one point of a test again: mode/n, as a failure prints it.
const envPoint = "REFOLD_FAULT"

// envStride is from which point to which the tests go, instead of what they take
// by themselves: 1 is all.
const envStride = "REFOLD_FAULT_STRIDE"

// eachPoint runs try for n = 1, 2, 3, … until no fault fires, or for every
// stride-th of them from a random one on, and returns how many fired.
func eachPoint(t *testing.T, name string, workers int, stride int64, try func(n int64) (fired bool, err error)) (points int64) {
	t.Helper()
	if only := os.Getenv(envPoint); only != "" {
		in, number, _ := strings.Cut(only, "/")
		n, err := strconv.ParseInt(number, 10, 64)
		if in != name || err != nil {
			return 0
		}
		if fired, err := try(n); err != nil {
			t.Errorf("fired %t: %v", fired, err)
		}
		return 1
	}
	var next, fired, failed atomic.Int64
	first := 1 + rand.Int64N(stride)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for failed.Load() < 5 {
				n := first + (next.Add(1)-1)*stride
				did, err := try(n)
				if err != nil {
					failed.Add(1)
					t.Errorf("%s=%s/%d go test -run '^%s$' repeats this: %v", envPoint, name, n, t.Name(), err)
				}
				if !did {
					return
				}
				fired.Add(1)
			}
		})
	}
	all.Wait()
	return fired.Load()
}

// stride is from which point to which a test goes.
func stride(usual, short int64) int64 {
	if n, err := strconv.ParseInt(os.Getenv(envStride), 10, 64); err == nil && n > 0 {
		return n
	}
	if brief() {
		return short
	}
	return usual
}

// life is a run of the script with a fault.
type life struct {
	folder, path string
	disk         *faultvfs.Disk
	options      *sqlite.Options
	n            int64
	arm, heal    func()
	lasting      bool
	derived      bool // scriptOfDerived instead of script

	st       *sqlite.Store
	ledger   *ledger
	since    int // steps that failed since the fault fired
	healed   bool
	reopened int // how often the handle did not work again by itself
	doubts   int
	refusals int
}

// lives counts what happened in all lives of a test.
type lives struct{ doubts, refusals, silent, reopened atomic.Int64 }

func (c *lives) add(l *life) {
	c.doubts.Add(int64(l.doubts))
	c.refusals.Add(int64(l.refusals))
	c.reopened.Add(int64(l.reopened))
	if l.doubts+l.refusals == 0 {
		c.silent.Add(1)
	}
}

// Each call that SQLite makes to the file system fails, one at a time, in each
// mode, while a script runs. What was said of each step is true, the store goes on
// when the fault is gone, and nothing is lost, there twice, or damaged.
func TestFaultAtEachCall(t *testing.T) { faultAtEachCall(t, false, stride(9, 14), 3200) }

// The same with a derived collection.
func TestFaultAtEachCallOfDerived(t *testing.T) { faultAtEachCall(t, true, stride(31, 149), 8000) }

// faultAtEachCall has so many faults at least in all modes.
func faultAtEachCall(t *testing.T, derived bool, step, least int64) {
	root, total := memoryFolder(t), int64(0)
	for _, m := range modes {
		var count lives
		points := eachPoint(t, m.name, runtime.GOMAXPROCS(0), step, func(n int64) (bool, error) {
			l, err := newLife(root, n)
			if err != nil {
				return false, err
			}
			f := m.Fault
			l.derived = derived
			f.At = n
			l.arm, l.heal, l.lasting = func() { l.disk.Arm(f) }, l.disk.Heal, f.Lasting
			fired, err := l.run(func() bool { return l.disk.Fired() > 0 })
			count.add(l)
			return fired, errors.Join(err, l.end())
		})
		total += points
		t.Logf("%s: %d faults, %d steps refused, %d in doubt, %d faults that no step showed, %d handles opened again",
			m.name, points, count.refusals.Load(), count.doubts.Load(), count.silent.Load(), count.reopened.Load())
	}
	if want := least / step; total < want && os.Getenv(envPoint) == "" {
		t.Errorf("%d faults, want at least %d", total, want)
	}
}

func newLife(root string, n int64) (*life, error) {
	folder, err := os.MkdirTemp(root, "life")
	if err != nil {
		return nil, err
	}
	disk, err := faultvfs.Attach(folder)
	return &life{
		folder: folder, path: filepath.Join(folder, "app.db"), disk: disk, n: n,
		options: &sqlite.Options{Readers: 1}, ledger: newLedger(),
	}, err
}

func (l *life) end() error {
	return errors.Join(l.disk.Detach(), os.RemoveAll(l.folder))
}

// run runs the script.
func (l *life) run(fired func() bool) (did bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l.arm()
	parts := script(l.path)
	if l.derived {
		parts = scriptOfDerived(l.path)
	}
	for i, part := range parts {
		if err := l.open(fired); err != nil {
			return true, err
		}
		for j, s := range part {
			if err := l.step(ctx, s, (l.n+int64(i+j))%2 == 0, fired); err != nil {
				l.st.Close()
				return true, fmt.Errorf("in step %d.%d, %s: %w", i, j, s.name, err)
			}
		}
		if err := l.together(ctx, fired, int64(i)); err != nil {
			l.st.Close()
			return true, fmt.Errorf("in part %d, together: %w", i, err)
		}
		if err := l.st.Close(); err != nil && !fired() {
			return true, fmt.Errorf("closing: %w", err)
		}
	}
	did = l.healed || fired()
	l.heal()
	l.healed = true
	if err := l.open(fired); err != nil {
		return did, err
	}
	err = l.finish(ctx)
	return did, errors.Join(err, l.st.Close(), intact(l.path))
}

// open opens the store, again when it failed and the fault is gone.
func (l *life) open(fired func() bool) (err error) {
	if l.st, err = sqlite.Open(l.path, l.options); err == nil {
		return nil
	}
	if !fired() || l.healed {
		return fmt.Errorf("opening without a fault: %w", err)
	}
	l.refusals++
	if errors.Is(err, sqlite.ErrSchema) || errors.Is(err, sqlite.ErrNotDatabase) {
		return fmt.Errorf("an I/O error was taken for another file: %w", err)
	}
	l.heal()
	l.healed = true
	if l.st, err = sqlite.Open(l.path, l.options); err != nil {
		return fmt.Errorf("opening again: %w", err)
	}
	return l.ledger.check(context.Background(), l.st)
}

// step does a step and judges how it went. After one that failed a lasting fault
// goes on for some steps; when it is gone the handle must work.
func (l *life) step(ctx context.Context, s step, again bool, fired func() bool) error {
	e, err := s.do(ctx, l.st)
	l.ledger.judge(s, e, err)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, errWrong) {
		return err
	}
	if (!fired() || l.healed) && expected(s, err) {
		return nil
	}
	if healed, err := l.failed(ctx, err, fired); err != nil || !healed || !again {
		return err
	}
	e, err = s.do(ctx, l.st)
	l.ledger.judge(s, e, err)
	if err != nil && !expected(s, err) {
		return fmt.Errorf("sent again: %w", err)
	}
	return l.ledger.check(ctx, l.st)
}

// failed counts a step that failed. If the fault has lasted long enough it is
// healed, and the handle checked.
func (l *life) failed(ctx context.Context, err error, fired func() bool) (healed bool, _ error) {
	if !fired() || l.healed {
		return false, fmt.Errorf("without a fault: %w", err)
	}
	if errors.Is(err, store.ErrInDoubt) {
		l.doubts++
	} else {
		l.refusals++
	}
	if l.since++; l.lasting && int64(l.since) <= l.n%4 {
		return false, nil
	}
	l.heal()
	l.healed = true
	if werr := l.works(ctx); werr != nil {
		return true, fmt.Errorf("after %w:\n%w", err, werr)
	}
	return true, nil
}

// together does steps at once, which the store may write in one transaction.
func (l *life) together(ctx context.Context, fired func() bool, part int64) error {
	steps := []step{
		appending(2000, of("f"), fmt.Sprint("f", part)),
		appending(10, of("g"), fmt.Sprint("g", part)),
		committing(all, false, "a"),
	}
	effects, errs := make([]effect, len(steps)), make([]error, len(steps))
	var group sync.WaitGroup
	for i, s := range steps {
		group.Go(func() { effects[i], errs[i] = s.do(ctx, l.st) })
	}
	group.Wait()
	l.ledger.judgeTogether(steps, effects, errs)
	if err := errors.Join(errs...); ctx.Err() != nil || errors.Is(err, errWrong) {
		return err
	} else if err != nil {
		_, err := l.failed(ctx, err, fired)
		return err
	}
	return nil
}

// expected reports whether a step is refused for what it is, maybe because an
// earlier one was refused.
func expected(s step, err error) bool {
	switch {
	case s.name == "append what is refused":
		return errors.Is(err, store.ErrIDReused)
	case errors.Is(err, store.ErrForgotten):
		return strings.Contains(s.name, "c3")
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrInvalid):
		return s.name == "discard" || s.name == "pause" || s.name == "unpause"
	}
	return false
}

// works checks a handle of which the fault is gone: it shows what was said, and can
// be written.
func (l *life) works(ctx context.Context) error {
	err := l.ledger.check(ctx, l.st)
	if err == nil {
		probe := appending(10, of("probe"), "p1")
		var e effect
		e, err = probe.do(ctx, l.st)
		l.ledger.judge(probe, e, err)
	}
	if err == nil {
		return l.ledger.check(ctx, l.st)
	}
	l.reopened++
	l.st.Close()
	if l.st, err = sqlite.Open(l.path, l.options); err != nil {
		return err
	}
	return l.ledger.check(ctx, l.st)
}

// finish folds everything that is dirty, and checks the end.
func (l *life) finish(ctx context.Context) error {
	if err := l.ledger.check(ctx, l.st); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	if err := l.ledger.checkMark(ctx, l.st); err != nil {
		return fmt.Errorf("claiming at the end: %w", err)
	}
	var dirty []string
	for r, err := range l.st.Runnable(ctx, []string{"notes"}) {
		if err != nil {
			return err
		}
		dirty = append(dirty, r.Key.ID)
	}
	s := committing(all, false, dirty...)
	e, err := s.do(ctx, l.st)
	if err != nil {
		return err
	}
	l.ledger.judge(s, e, nil)
	return l.ledger.check(ctx, l.st)
}

// intact checks the file with SQLite's own means.
func intact(path string) error {
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=rw")
	if err != nil {
		return err
	}
	defer db.Close()
	var said string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		return fmt.Errorf("integrity_check says %q, %v", said, err)
	}
	return nil
}
