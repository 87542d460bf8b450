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

// readOften counts how often the runnable documents of one generation are read, and lets
// nobody read them who does so too often.
type readOften struct {
	store.Backend
	name  string
	times atomic.Int64
}

const tooOften = 1000

func (s *readOften) Runnable(ctx context.Context, names []string) iter.Seq2[store.Runnable, error] {
	if len(names) == 1 && names[0] == s.name && s.times.Add(1) > tooOften {
		<-ctx.Done()
	}
	return s.Backend.Runnable(ctx, names)
}

// While a collection goes on in the store, and this process does not know it yet, what is made of
// it beside what is served is not read again and again.
func TestBuildOfWhatGoesOnUnheardDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New(nil)
		old := newProcess(t, inner, materializer.Config{}, upTo(fold)).start()
		old.append("a", "x")
		settle()
		old.halt()
		st := &readOften{Backend: inner, name: "texts@2"}
		p := newProcess(t, st, materializer.Config{}, upTo(fold, upper))
		if err := p.m.Pause(t.Context(), "texts"); err != nil {
			t.Fatal(err)
		}
		p.start()
		time.Sleep(time.Second)
		if err := inner.Pause(t.Context(), "texts", false); err != nil {
			t.Fatal(err)
		}
		p.append("a", "y")
		time.Sleep(5 * time.Second)
		if n := st.times.Load(); n > tooOften {
			t.Errorf("read %d times in 5 s", n)
		}
		time.Sleep(time.Minute)
		p.mustBe("1 kept, 2 serving")
	})
}
