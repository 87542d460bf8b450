package crash

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/refold-go/refold/internal/chain"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// checker remembers over all lives of a file what must be in it.
type checker struct {
	path    string
	acked   []ack
	applied map[string]int64 // the highest seen of each document
}

// check looks at the file as the killed processes left it.
func (c *checker) check(t *testing.T) {
	t.Helper()
	st, _, chains, err := open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, st)
	present := make(map[ack]int)
	for v, err := range chains.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Parked {
			t.Errorf("%s is parked", v.ID)
		}
		if v.Applied < c.applied[v.ID] {
			t.Errorf("%s: applied fell from %d to %d", v.ID, c.applied[v.ID], v.Applied)
		}
		c.applied[v.ID] = v.Applied
		var want state
		seq := int64(0)
		for op, err := range chains.Operations(t.Context(), v.ID, 1) {
			if err != nil {
				t.Fatal(err)
			}
			if seq++; op.Seq != seq {
				t.Fatalf("%s: operation %d follows %d", v.ID, op.Seq, seq-1)
			}
			if op.ID != "" {
				present[ack{v.ID, op.ID}]++
			}
			if seq <= v.Applied {
				if want, err = chain.Fold(want, op); err != nil {
					t.Fatal(err)
				}
			}
		}
		if seq != v.Head {
			t.Errorf("%s: %d operations, head is %d", v.ID, seq, v.Head)
		}
		if v.State != want {
			t.Errorf("%s: view is %+v, its operations fold to %+v", v.ID, v.State, want)
		}
	}
	for op, n := range present {
		if n != 1 {
			t.Errorf("%v is there %d times", op, n)
		}
	}
	for _, a := range c.acked {
		if present[a] == 0 {
			t.Errorf("%v was acknowledged and is not there", a)
		}
	}
}

// finish runs the materializer until everything is folded.
func (c *checker) finish(t *testing.T) {
	t.Helper()
	st, m, _, err := open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, st)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	end, err := m.End(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Wait(ctx, end); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for row, err := range st.Runnable(context.WithoutCancel(ctx), []string{"chains"}) {
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%v is still dirty", row.Key)
	}
}

func closeStore(t *testing.T, st *sqlite.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// kills is how often a process is killed: REFOLD_KILLS says it, or else it is a few
// times.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("REFOLD_KILLS")); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return 5
	}
	return 25
}

func TestKilledWhileAppendingAndFolding(t *testing.T) {
	const perFile = 50 // each life is checked with all that the file has
	acked := 0
	for first := 0; first < kills(); first += perFile {
		c := checker{path: filepath.Join(t.TempDir(), "chains.db"), applied: make(map[string]int64)}
		for life := first; life < min(first+perFile, kills()); life++ {
			p := start(t, "both", c.path, life)
			p.kill(t, rand.N(60*time.Millisecond))
			c.acked = append(c.acked, p.acks...)
			c.check(t)
			if t.Failed() {
				t.Fatalf("in life %d", life)
			}
		}
		c.finish(t)
		c.check(t)
		acked += len(c.acked)
	}
	t.Logf("%d kills, %d acknowledged operations", kills(), acked)
}

// One process makes the views, others append and read; one that appends is
// killed.
func TestSeveralProcesses(t *testing.T) {
	c := checker{path: filepath.Join(t.TempDir(), "chains.db"), applied: make(map[string]int64)}
	both := start(t, "both", c.path, 0)
	<-both.first

	st, m, chains, err := open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); err == nil {
		t.Fatal("a second materializer was not refused")
	} else if want := materializer.ErrClaimed; !errors.Is(err, want) {
		t.Fatalf("a second materializer was refused with %v, want %v", err, want)
	}
	others := []*process{start(t, "append", c.path, 1), start(t, "append", c.path, 2)}
	for range 10 {
		token, err := chains.Append(t.Context(), "0", link{Text: "from the parent"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		v, err := chains.Get(ctx, "0", materializer.AtLeast(token))
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if seqs, err := st.Resolve(t.Context(), token, []store.Key{{Collection: "chains", ID: "0"}}); err != nil || v.Applied < seqs[0] {
			t.Fatalf("view has %d operations, want at least %v (%v)", v.Applied, seqs, err)
		}
	}
	closeStore(t, st)
	others[0].kill(t, 0)
	others[1].kill(t, 10*time.Millisecond)
	both.kill(t, 10*time.Millisecond)
	for _, p := range append(others, both) {
		c.acked = append(c.acked, p.acks...)
	}
	c.check(t)
	c.finish(t)
	c.check(t)
}

// An append is one step: whenever its process is killed, its operations are there, in
// the log and with their document dirty, or none of this is. Nothing has to age out.
func TestF9_AppendIsOneStep(t *testing.T) {
	c := checker{path: filepath.Join(t.TempDir(), "chains.db"), applied: make(map[string]int64)}
	for life := range min(kills(), 10) {
		p := start(t, "append", c.path, life)
		p.kill(t, rand.N(60*time.Millisecond))
		c.acked = append(c.acked, p.acks...)
		c.check(t)
		c.checkDirty(t)
		if t.Failed() {
			t.Fatalf("in life %d", life)
		}
	}
	c.finish(t)
	c.check(t)
}

// checkDirty checks that the documents which lack something are the runnable ones.
func (c *checker) checkDirty(t *testing.T) {
	t.Helper()
	st, _, _, err := open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, st)
	runnable := make(map[store.Key]bool)
	for row, err := range st.Runnable(t.Context(), []string{"chains"}) {
		if err != nil {
			t.Fatal(err)
		}
		runnable[row.Key] = true
	}
	for doc, err := range st.Scan(t.Context(), "chains", "", store.WithoutViews) {
		if err != nil {
			t.Fatal(err)
		}
		if doc.Dirty() != runnable[doc.Key] {
			t.Errorf("%s: applied %d of %d, runnable %t", doc.Key, doc.Applied, doc.Head, runnable[doc.Key])
		}
	}
}
