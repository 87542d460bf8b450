package materializer_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// finishFor takes a document over as somebody else would, and commits what it lacks.
func (r *rig) finishFor(holder, id string, view string) {
	r.t.Helper()
	taken := leaseFor(r.t, r.st, holder, id, aLease, true)
	doc := r.load(id)
	got, err := r.st.Commit(r.t.Context(), []store.Commit{{
		Key: doc.Key, Loaded: doc.Applied, Applied: doc.Head, Epoch: taken.Epoch, View: []byte(view),
	}})
	if err != nil || got[0] == store.Stale {
		r.t.Fatalf("committing for %s: %v, %v", holder, got, err)
	}
}

// While the lane still folds a document that others have taken over and finished, the
// pool of the same process leaves it alone: no two workers of a materializer fold one
// document at once.
func TestPoolLeavesAloneWhatTheLaneFoldsWithoutItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		held := newHold()
		var now, most atomic.Int32
		a := shared(t, st, func(s text, op operation) (text, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			return held.fold(s, op)
		})
		a.append("d", "hold")
		leaseFor(t, st, "dead", "d", time.Second, false)
		time.Sleep(2 * time.Second)
		a.start()
		<-held.reached // in the lane, as somebody has left it behind
		time.Sleep(pastLease)
		a.finishFor("other", "d", `{"Words":["hold"],"Seqs":[1]}`)
		a.append("d", "x")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if most.Load() != 1 {
			t.Errorf("%d folds of the document at once", most.Load())
		}
		close(held.goOn)
		time.Sleep(pastLease)
		settle()
		if doc := a.load("d"); doc.Dirty() {
			t.Errorf("the document is %+v when the fold has returned", doc)
		}
	})
}

// A fold that ends its goroutine, and does so again when what came before is folded
// once more, leaves no lease behind when Run has returned.
func TestFoldThatExitsTwiceLeavesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		var exits atomic.Int32
		a := newRig(t, st, materializer.Config{Shared: true, Workers: 1}, specOf(func(s text, op operation) (text, error) {
			if n := exits.Add(1); n == 2 || n == 3 { // the second operation, and the first one again
				runtime.Goexit()
			}
			return fold(s, op)
		}))
		a.append("d", "x", "y")
		a.start()
		settle()
		if err := a.halt(); err != nil || exits.Load() != 3 {
			t.Fatalf("Run returned %v after %d folds", err, exits.Load())
		}
		if doc := a.load("d"); doc.Lease.Holder != "" {
			t.Errorf("the document is %+v", doc)
		}
	})
}

// leasesCounted counts the leases that are asked for, and lets time pass when they are many.
type leasesCounted struct {
	store.Backend
	leases atomic.Int32
}

const tooMany = 100

func (c *leasesCounted) Lease(ctx context.Context, holder string, terms store.LeaseTerms, keys []store.Key, over bool) ([]store.Leased, error) {
	if c.leases.Add(1) > tooMany {
		time.Sleep(time.Second)
	}
	return c.Backend.Lease(ctx, holder, terms, keys, over)
}

// A reader that waits for a document which the lane folds still does not send the
// pool to it again and again, also if the table has no room for a delay.
func TestReaderWaitsForTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &leasesCounted{Backend: memory.New(nil)}
		held := newHold()
		spec := specOf(held.fold)
		spec.Retry.First, spec.Retry.Cap = time.Hour, time.Hour
		a := newRig(t, st, materializer.Config{Shared: true, Workers: 1, Queue: 1}, spec)
		a.append("d", "hold")
		leaseFor(t, st.Backend, "dead", "d", time.Second, false)
		time.Sleep(2 * time.Second)
		a.start()
		<-held.reached
		time.Sleep(pastLease)
		a.append("other", "!fail") // its delay takes the room
		time.Sleep(2 * time.Second)
		a.finishFor("other", "d", `{"Words":["hold"],"Seqs":[1]}`)
		token := a.append("d", "x")
		read := make(chan error, 1)
		go func() {
			_, err := a.texts.Get(context.Background(), "d", materializer.AtLeast(token))
			read <- err
		}()
		time.Sleep(10 * time.Second)
		if n := st.leases.Load(); n > tooMany {
			t.Errorf("%d leases were asked for", n)
		}
		close(held.goOn)
		if err := <-read; err != nil {
			t.Error(err)
		}
	})
}
