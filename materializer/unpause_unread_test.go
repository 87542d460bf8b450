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

// unlisted is a store of which the collections cannot be read for a while.
type unlisted struct {
	*memory.Store
	broken atomic.Bool
}

func (s *unlisted) Collections(ctx context.Context) ([]store.Collection, error) {
	if s.broken.Load() {
		return nil, errPlanted
	}
	return s.Store.Collections(ctx)
}

// A collection goes on, and the materializer cannot read that just then: it does so as soon as it can,
// and not at the next sweep.
func TestUnpausedWhileTheCollectionsCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &unlisted{Store: memory.New(nil)}
		r := newRig(t, st, materializer.Config{Workers: 1}, spec()).start()
		settle()
		if err := r.texts.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.append("a", "x")
		settle()
		st.broken.Store(true)
		if err := r.texts.Unpause(t.Context()); err == nil {
			t.Error("Unpause returned no error")
		}
		time.Sleep(2500 * time.Millisecond)
		st.broken.Store(false)
		time.Sleep(time.Second)
		settle()
		r.wantView("a", "x", 1, 1)
	})
}
