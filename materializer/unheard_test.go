package materializer_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// mending is a fold that fails for good until it is mended.
type mending struct{ mended atomic.Bool }

func (m *mending) fold(s text, op operation) (text, error) {
	if m.mended.Load() {
		return plain(s, op)
	}
	return fold(s, op)
}

// A suspect that is resumed without anybody hearing of it, as after a lag of the
// bus or by another process, is found by the next reading of the store.
func TestSuspectThatIsResumedUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m mending
		r := newDamagedRig(t, newUnclean(memory.New(nil)), materializer.Config{}, specOf(m.fold))
		r.append("a", "!permanent")
		r.start()
		defer r.halt()
		settle()
		if !r.load("a").Parked() {
			t.Fatal("the document is not parked")
		}
		m.mended.Store(true)
		r.mute.off.Store(true)
		if n, err := r.texts.Resume(t.Context(), "a"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		r.mute.off.Store(false)
		time.Sleep(time.Minute) // the store is read without a reason once in it
		settle()
		if doc := r.load("a"); doc.Dirty() {
			t.Errorf("applied %d of %d", doc.Applied, doc.Head)
		}
	})
}

// A document waits after a failure, and the table has no room for that: a reader
// that waits for it must not signal it again and again.
func TestReaderOfADelayedDocumentDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 1, Queue: 1}, specOf(func(s text, op operation) (text, error) {
			if mended.Load() {
				return plain(s, op)
			}
			return s, materializer.RetryAfter(time.Minute, errPlanted)
		}))
		r.append("a", "x")
		token := r.append("b", "x")
		r.start()
		settle()
		mended.Store(true)
		var loads atomic.Int64
		st.onPoint(func(point string) error {
			if point == atLoad && loads.Add(1) > 1000 {
				return errPlanted // so that a reader that spins ends, too
			}
			return nil
		})
		if _, err := r.texts.Get(within(t, 2*time.Minute), "b", materializer.AtLeast(token)); err != nil {
			t.Error(err)
		}
		if n := loads.Load(); n > 20 {
			t.Errorf("the reader and the workers loaded documents %d times", n)
		}
	})
}

// resuming calls resume before it says which documents are parked.
type resuming struct {
	*muted
	resume func()
}

func (s *resuming) Parked(ctx context.Context, collection string) iter.Seq2[store.Document, error] {
	s.resume()
	return s.muted.Parked(ctx, collection)
}

// A document that is resumed after the runnable ones were read and before the
// parked ones are is waited for.
func TestDrainWaitsForADocumentThatIsJustResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m mending
		below := memory.New(nil)
		st := &resuming{&muted{Backend: below}, func() {}}
		r := newDamagedRig(t, st, materializer.Config{}, specOf(m.fold)).start()
		defer r.halt()
		r.append("a", "!permanent")
		settle()
		m.mended.Store(true)
		st.off.Store(true)
		st.resume = func() {
			st.resume = func() {}
			if n, err := below.Resume(t.Context(), []store.Key{key("a")}); n != 1 || err != nil {
				t.Error(n, err)
			}
		}
		if err := r.m.Drain(within(t, time.Minute)); err != nil {
			t.Error(err)
		}
		if doc := r.load("a"); doc.Dirty() {
			t.Errorf("drained with applied %d of %d", doc.Applied, doc.Head)
		}
	})
}
