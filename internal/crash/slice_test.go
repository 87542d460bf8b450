package crash

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/internal/chain"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// A long document has so many operations, and a process folds so many of them before it
// becomes slow: however late it is killed, it has not folded them all.
const operations, perLife = 60_000, 15_000

// slowBehind is the fold that is slow behind so many operations.
func slowBehind(n int64) fold {
	var folded atomic.Int64
	return func(s state, op materializer.Operation[link]) (state, error) {
		if folded.Add(1) > n {
			time.Sleep(time.Millisecond)
		}
		return chain.Fold(s, op)
	}
}

// A process that folds a long document in slices is killed: the next one goes on
// from the last slice that was stored, and not from the start.
func TestKilledBetweenSlices(t *testing.T) {
	c := checker{path: filepath.Join(t.TempDir(), "chains.db"), applied: make(map[string]int64)}
	st, _, chains, err := open(c.path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, st)
	links := make([]link, 10_000)
	for i := range operations / len(links) {
		for j := range links {
			links[j] = link{Text: fmt.Sprintf("operation %d of a long document", i*len(links)+j)}
		}
		if _, err := chains.Append(t.Context(), "long", links...); err != nil {
			t.Fatal(err)
		}
	}
	applied := func() int64 {
		docs, err := st.Load(t.Context(), []store.Key{{Collection: "chains", ID: "long"}}, store.WithoutViews)
		if err != nil {
			t.Fatal(err)
		}
		return docs[0].Applied
	}
	lives := 0
	for at := int64(0); at < operations; lives++ {
		p := start(t, "fold", c.path, lives)
		deadline := time.Now().Add(time.Minute)
		for applied() == at {
			if time.Now().After(deadline) {
				t.Fatalf("nothing was folded for a minute, at %d", at)
			}
			time.Sleep(100 * time.Microsecond)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		p.read.Wait()
		if _, killed := p.cmd.Wait().(*exec.ExitError); !killed {
			t.Error("the child ended by itself")
		}
		now := applied()
		if now <= at {
			t.Fatalf("applied fell from %d to %d", at, now)
		}
		at = now
	}
	if lives < 3 {
		t.Errorf("it was folded in %d lives, so that no slice was left to another one", lives)
	}
	c.check(t)
	c.finish(t)
	c.check(t)
	t.Logf("%d operations in %d lives", operations, lives)
}
