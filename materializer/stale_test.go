package materializer_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// commitRaw stores the view of the first n operations past the materializer, as
// another worker would that has overtaken it.
func (r *rig) commitRaw(id string, n int64) error {
	ctx, st := context.Background(), untapped(r.st)
	doc := r.load(id)
	ops, err := st.Operations(ctx, []store.Range{{Key: key(id), From: 1, To: n}}, store.Budget{})
	if err != nil {
		return err
	}
	var state text
	for _, op := range ops[0] {
		var w word
		json.Unmarshal(op.Body, &w)
		state, _ = plain(state, operation{Seq: op.Seq, Body: w})
	}
	view, _ := json.Marshal(state)
	_, err = st.Commit(ctx, []store.Commit{{Key: key(id), Loaded: doc.Applied, Epoch: doc.Epoch, Applied: n, View: view}})
	return err
}

// F2: the late commit of a worker that was overtaken is refused. It costs no
// attempt, the document goes round again, and the view is right.
func TestF2_LateCommitOfAStalledWorkerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 1}, spec()) // a is of the first commit
		r.append("a", "one", "two", "three")
		r.append("b", "x")
		st.on(atCommit, func() error { return r.commitRaw("a", 2) })
		r.start()
		settle()
		r.wantView("a", "one two three", 3, 3)
		r.wantView("b", "x", 1, 1) // maybe of the same run, and not refused
		if got := r.m.Stats(); got.Stale != 1 || got.Runs != 2 || got.Operations != 2 {
			t.Errorf("%d stale, %d runs of %d operations, want 1, 2 of 2", got.Stale, got.Runs, got.Operations)
		}
		if commits := st.commitsOf("a"); len(commits) != 1 || commits[0].Loaded != 2 || commits[0].Failure != nil {
			t.Errorf("commits %+v, want one over 2", commits)
		}
		r.wantClean()
	})
}

// F2, where the fold of the overtaken worker has failed: its failure is refused
// like its view.
func TestF2_LateFailureOfAStalledWorkerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		s := spec()
		s.Retry.Attempts = 1
		r := newRig(t, st, materializer.Config{}, s)
		r.append("a", "one", "!fail", "three")
		st.on(atCommit, func() error { return r.commitRaw("a", 3) })
		r.start()
		settle()
		r.wantView("a", "one !fail three", 3, 3)
		if f := r.load("a").Failure; f != nil {
			t.Errorf("failure %+v, want none", f)
		}
		if got := r.m.Stats(); got.Stale != 1 || got.Parked != 0 {
			t.Errorf("%d stale and %d parked, want 1 and 0", got.Stale, got.Parked)
		}
		r.wantClean()
	})
}
