package materializer_test

import (
	"context"
	"encoding/json"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// keyed checks that commits are of documents.
type keyed struct {
	store.Backend
	t       testing.TB
	commits atomic.Int64
}

func (s *keyed) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	s.commits.Add(1)
	for i := range commits {
		if commits[i].Key == (store.Key{}) {
			s.t.Error("a commit of no document")
		}
	}
	return s.Backend.Commit(ctx, commits)
}

// decoding calls a function whenever it decodes.
type decoding struct{ before func() }

func (decoding) Encode(s text) ([]byte, error) { return json.Marshal(s) }

func (d decoding) Decode(view []byte) (s text, err error) {
	d.before()
	err = json.Unmarshal(view, &s)
	return s, err
}

// Run is told to stop while what a fold that ended its goroutine had folded before is folded once
// more: nothing is stored then, and nothing is tried that is no commit.
func TestStopWhileAFoldThatExitedIsBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &keyed{Backend: memory.New(nil), t: t}
		var exited atomic.Bool
		var r *rig
		s := specOf(func(s text, op operation) (text, error) {
			if op.Body.Text == "exit" {
				exited.Store(true)
				runtime.Goexit()
			}
			return fold(s, op)
		})
		s.Views = decoding{func() {
			if exited.Load() {
				r.stop(context.Canceled)
				time.Sleep(time.Millisecond)
			}
		}}
		r = newRig(t, st, materializer.Config{Workers: 1, Grace: -1}, s)
		r.append("d", "x")
		r.start()
		synctest.Wait()
		before := st.commits.Load()
		r.append("d", "y", "exit")
		time.Sleep(time.Second)
		r.halt()
		if !exited.Load() || before == 0 {
			t.Errorf("exited: %t, with %d commits before", exited.Load(), before)
		}
		if doc := r.load("d"); doc.Applied != 1 || doc.Failure != nil {
			t.Errorf("it is applied up to %d, failure %+v", doc.Applied, doc.Failure)
		}
	})
}
