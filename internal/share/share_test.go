//go:build unix

package share

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/refold-go/refold/internal/chain"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// number is what a variable of the environment says, or n.
func number(name string, n int) int {
	if given, err := strconv.Atoi(os.Getenv(name)); err == nil && given > 0 {
		return given
	}
	return n
}

// world is a file with documents, as its test sees it.
type world struct {
	t         *testing.T
	path      string
	st        *sqlite.Store
	m         *materializer.Materializer
	chains    *chains
	documents int
	applied   map[string]int64 // the highest seen of each document
	logs      int
}

func newWorld(t *testing.T, documents int) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "chains.db"), documents: documents, applied: make(map[string]int64)}
	var err error
	if w.st, err = sqlite.Open(w.path, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.st.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.m, err = materializer.New(w.st, materializer.Config{}); err != nil {
		t.Fatal(err)
	}
	w.chains, err = materializer.Register(w.m, materializer.Spec[state, link]{Name: "chains", Version: 1, Fold: chain.Fold})
	if err != nil {
		t.Fatal(err)
	}
	for first := 0; first < documents; first += 1000 {
		var batch []materializer.Change
		for i := first; i < min(first+1000, documents); i++ {
			batch = append(batch, w.chains.Change(strconv.Itoa(i), link{Text: "first"}, link{Text: "second"}))
		}
		if _, err := w.m.Append(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) start() (cmd *exec.Cmd, log string) {
	w.logs++
	log = w.log(w.logs)
	return start(w.t, w.path, log), log
}

func (w *world) log(n int) string { return fmt.Sprintf("%s.%d.log", w.path, n) }

// appendFor appends to any documents for a while, and looks at them.
func (w *world) appendFor(d time.Duration) {
	w.t.Helper()
	for begun := time.Now(); time.Since(begun) < d; {
		var batch []materializer.Change
		var keys []store.Key
		for _, i := range rand.Perm(w.documents)[:min(w.documents, 20)] {
			batch = append(batch, w.chains.Change(strconv.Itoa(i), link{Text: strconv.Itoa(int(rand.Int32()))}))
			keys = append(keys, store.Key{Collection: "chains", ID: strconv.Itoa(i)})
		}
		if _, err := w.m.Append(w.t.Context(), batch...); err != nil {
			w.t.Fatal(err)
		}
		docs, err := w.st.Load(w.t.Context(), keys, store.WithoutViews)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, doc := range docs {
			w.see(doc)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *world) see(doc store.Document) {
	if doc.Applied < w.applied[doc.Key.ID] {
		w.t.Errorf("%s: applied fell from %d to %d", doc.Key, w.applied[doc.Key.ID], doc.Applied)
	}
	w.applied[doc.Key.ID] = doc.Applied
}

// check looks at everything when all is at rest.
func (w *world) check() {
	w.t.Helper()
	for row, err := range w.st.Runnable(w.t.Context(), []string{"chains"}) {
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Errorf("%v is still dirty, leased %+v", row.Key, row.Lease)
	}
	n := 0
	for doc, err := range w.st.Scan(w.t.Context(), "chains", "", store.WithoutViews) {
		if err != nil {
			w.t.Fatal(err)
		}
		w.see(doc)
		n++
		if doc.Parked() || doc.Lease.Holder != "" {
			w.t.Errorf("%s is parked or leased: %+v, %+v", doc.Key, doc.Failure, doc.Lease)
		}
	}
	if n != w.documents {
		w.t.Errorf("%d documents, want %d", n, w.documents)
	}
	report, err := w.chains.Verify(w.t.Context(), materializer.VerifyOptions{})
	if err != nil {
		w.t.Errorf("verifying: %v", err)
	}
	if report.Different > 0 {
		w.t.Errorf("%d views differ from a fold of their operations: %+v", report.Different, report)
	}
}

// Four processes share a file. One is stopped for longer than a lease, over and over,
// with work in its hands, and of the others one is killed each second.
func TestFourProcesses(t *testing.T) {
	kills := 5
	if testing.Short() {
		kills = 2
	}
	kills = number("REFOLD_SHARE_KILLS", kills)
	w := newWorld(t, number("REFOLD_SHARE_DOCUMENTS", 2000))
	stopped, stoppedLog := w.start()
	var others []*exec.Cmd
	for range 3 {
		other, _ := w.start()
		others = append(others, other)
	}
	defer func() {
		for _, cmd := range append(others, stopped) {
			kill(t, cmd)
		}
	}()
	late := func() (n int) {
		for _, e := range readLog(t, stoppedLog) {
			if e.kind == refused {
				n++
			}
		}
		return n
	}
	// Where it is stopped is chance: until it has been in the middle of something.
	for n := 0; n < kills || late() == 0 && n < kills+60; n++ {
		w.appendFor(time.Duration(rand.N(int64(300 * time.Millisecond))))
		signal(t, stopped, syscall.SIGSTOP)
		// By a timer: if it was stopped in a transaction, everybody waits for it.
		goesOn := time.AfterFunc(aLease*3/2, func() { signal(t, stopped, syscall.SIGCONT) })
		w.appendFor(time.Second / 2)
		kill(t, others[n%3])
		others[n%3], _ = w.start()
		w.appendFor(aLease)
		if goesOn.Stop() {
			signal(t, stopped, syscall.SIGCONT)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := w.chains.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	w.check()

	logs := make(map[string][]event)
	for n := 1; n <= w.logs; n++ {
		logs[w.log(n)] = readLog(t, w.log(n))
	}
	n := checkLogs(t, logs)
	t.Logf("%d kills: %d leases, %d of them taken over, %d runs, %d results accepted and %d refused, %d of these of the process that was stopped",
		kills, n.leases, n.takenOver, n.runs, n.accepted, n.refused, late())
	if late() == 0 || n.takenOver == 0 {
		t.Error("no late write was refused, or nothing was taken over")
	}
}

func signal(t *testing.T, cmd *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		t.Error(err)
	}
}
