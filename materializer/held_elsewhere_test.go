package materializer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// asked is a store that counts how often documents are loaded, and fails after very many
// times: then somebody asks in a circle. It counts how often collections are read, too.
type asked struct {
	*memory.Store
	times, collections atomic.Int64
}

func (s *asked) Collections(ctx context.Context) ([]store.Collection, error) {
	if s.collections.Add(1) > 10_000 {
		return nil, errPlanted
	}
	return s.Store.Collections(ctx)
}

func (s *asked) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	if s.times.Add(1) > 10_000 {
		return nil, errPlanted
	}
	return s.Store.Load(ctx, keys, parts)
}

// Another process holds what is served, before a switch, dies, and this one was not told of
// either. Who waits for a document signals it whenever it has been looked at; if the table has
// no room for the delay, nothing but what is held keeps the pool from looking at it at once
// again. When the hold has run out, the document is folded.
func TestWaitingForWhatIsHeldElsewhere(t *testing.T) {
	t.Run("no room for the delay", func(t *testing.T) { waitForWhatIsHeldElsewhere(t, 1, false) })
	t.Run("room", func(t *testing.T) { waitForWhatIsHeldElsewhere(t, 0, false) })
	t.Run("known already", func(t *testing.T) { waitForWhatIsHeldElsewhere(t, 0, true) })
}

func waitForWhatIsHeldElsewhere(t *testing.T, queue int, known bool) {
	synctest.Test(t, func(t *testing.T) {
		st := &asked{Store: memory.New(nil)}
		failing := specOf(func(s text, op operation) (text, error) {
			if op.Body.Text == "bad" {
				return s, errPlanted
			}
			return fold(s, op)
		})
		failing.Retry = materializer.Retry{Attempts: 100, First: time.Hour, Cap: time.Hour}
		r := newRig(t, st, materializer.Config{Workers: 1, Queue: queue, Shared: true}, failing).start()
		settle()
		r.append("poison", "bad")
		settle()
		if d := r.m.Stats().Delayed; d != 1 {
			t.Fatalf("%d documents are delayed, want the bad one, which takes the room if there is only one", d)
		}
		const held = 3 * time.Second
		if _, err := st.Hold(t.Context(), "texts", time.Time{}, held); err != nil {
			t.Fatal(err)
		}
		if known { // it reads the collections for another reason
			if err := r.texts.Unpause(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		st.times.Store(0)
		token := r.append("a", "x")
		began := time.Now()
		v, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
		if err != nil || v.Applied != 1 {
			t.Fatalf("Get: %+v, %v", v, err)
		}
		if d := time.Since(began); d < held || d > held+2*time.Second {
			t.Errorf("the view was there after %v, want what it was held for, %v", d, held)
		}
		if n := st.times.Load(); n > 1000 {
			t.Errorf("documents were loaded %d times in %v", n, held)
		}
	})
}

// A collection that is dropped while it is held is not looked at again and again.
func TestHeldAndDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &asked{Store: memory.New(nil)}
		r := newRig(t, st, materializer.Config{Workers: 1, Shared: true}, spec()).start()
		r.append("a", "x")
		settle()
		if _, err := st.Hold(t.Context(), "texts", time.Time{}, time.Second); err != nil {
			t.Fatal(err)
		}
		if err := r.texts.Unpause(t.Context()); err != nil { // it reads the collections
			t.Fatal(err)
		}
		if err := st.Drop(t.Context(), "texts"); err != nil {
			t.Fatal(err)
		}
		st.collections.Store(0)
		time.Sleep(10 * time.Second)
		if n := st.collections.Load(); n > 100 {
			t.Errorf("the collections were read %d times in 10 s", n)
		}
	})
}
