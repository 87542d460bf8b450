package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/rs/zerolog"
)

// A build that gets dirty as fast as it is folded is told of after a minute without progress, once,
// and its progress does not promise an end.
func TestBuildThatDoesNotKeepUpIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1500
		st := memory.New(nil)
		old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		for _, id := range numbered("d", n) {
			old.append(id, "a")
		}
		settle()
		old.halt()
		var lines logged
		slow := func(s text, op operation) (text, error) {
			time.Sleep(100 * time.Millisecond)
			return upper(s, op)
		}
		p := newProcess(t, st, materializer.Config{Workers: 2, Logger: zerolog.New(&lines)}, upTo(fold, slow)).start()
		var over atomic.Bool
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for i := 0; !over.Load(); i++ {
				if _, err := p.of[1].Append(t.Context(), fmt.Sprintf("d%06d", i*7%n), word{"b"}); err != nil {
					t.Error(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
		told := func() []map[string]any {
			return lines.with(t, "this version does not catch up with what is appended, and is not served: give it more workers, or a faster fold")
		}
		time.Sleep(30 * time.Second)
		if len(told()) > 0 {
			t.Errorf("it was told of after 30 s: %v", told())
		}
		time.Sleep(3 * time.Minute)
		if all := told(); len(all) != 1 || all[0]["collection"] != "texts" || all[0]["version"] != 2. || all[0]["level"] != "warn" {
			t.Errorf("told was %v, want one line", all)
		}
		for range 30 {
			g := must(p.m.Generations(t.Context(), "texts"))(t)[1]
			if g.Dirty <= store.MaxDirty || g.Rate > 3 {
				t.Fatalf("it has %+v, and gets dirty as fast as it is folded", g)
			}
			time.Sleep(time.Second)
		}
		over.Store(true)
		<-ended
		time.Sleep(30 * time.Minute) // 100 ms for each of some 12,000 operations
		p.mustBe("1 kept, 2 serving")
		if len(told()) != 1 {
			t.Errorf("told was %v, want one line", told())
		}
	})
}

// noGenerations is a store that cannot read the generations of a collection.
type noGenerations struct {
	store.Backend
	of    string
	fails atomic.Bool
}

var errUnreadable = errors.New("planted: unreadable")

func (s *noGenerations) Generations(ctx context.Context, name string) ([]store.Generation, error) {
	if name == s.of && s.fails.Load() {
		return nil, errUnreadable
	}
	return s.Backend.Generations(ctx, name)
}

// An error of the store about one collection does not keep the generations of the others from
// being built, and is tried again once a second.
func TestBuildBesideOneThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &noGenerations{Backend: memory.New(nil), of: "a"}
		run := func(version int, cfg materializer.Config) *rig {
			m := must(materializer.New(st, cfg))(t)
			for _, name := range []string{"a", "b"} {
				spec := filesSpec(name)
				spec.Version = version
				c := must(materializer.Register(m, spec))(t)
				for _, id := range numbered("f", 1000) {
					must(c.Append(t.Context(), id, file{Lines: version}))(t)
				}
			}
			r := (&rig{t: t, m: m}).start()
			t.Cleanup(func() { _ = r.halt() })
			return r
		}
		first := run(1, materializer.Config{})
		settle()
		if err := first.halt(); err != nil {
			t.Fatal(err)
		}
		var lines logged
		st.fails.Store(true)
		next := run(2, materializer.Config{Logger: zerolog.New(&lines)})
		time.Sleep(10 * time.Second)
		served := func() (all []int) {
			for _, c := range must(st.Collections(t.Context()))(t) {
				all = append(all, c.Version)
			}
			return all
		}
		if got := served(); got[0] != 1 || got[1] != 2 {
			t.Errorf("served are versions %v, want 1 of a, which fails, and 2 of b", got)
		}
		if n := len(lines.with(t, "cannot look after the generations")); n < 5 || n > 12 {
			t.Errorf("it was told of %d times in 10 s", n)
		}
		st.fails.Store(false)
		time.Sleep(10 * time.Second)
		if got := served(); got[0] != 2 {
			t.Errorf("served are versions %v", got)
		}
		_ = next
	})
}

// hangingBuild returns a process whose build of version 2, of one document, goes on when free is
// closed. It is not started.
func hangingBuild(t *testing.T, st store.Backend) (p *process, free chan struct{}) {
	old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
	old.append("a", "x")
	settle()
	old.halt()
	free = make(chan struct{})
	return newProcess(t, st, materializer.Config{}, upTo(fold, func(s text, op operation) (text, error) {
		<-free
		return upper(s, op)
	})), free
}

// What another process holds for its own switch is not let go by this one.
func TestHoldOfAnotherProcessIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		p, free := hangingBuild(t, st)
		must(st.Hold(t.Context(), "texts", time.Time{}, 4*time.Second))(t)
		p.start()
		time.Sleep(3 * time.Second)
		if held := must(st.Collections(t.Context()))(t)[0].Held; held <= 0 {
			t.Error("it is not held any more")
		}
		time.Sleep(time.Second)
		p.mustBe("1 serving, 2 building")
		close(free)
		time.Sleep(10 * time.Second)
		p.mustBe("1 kept, 2 serving")
	})
}

// rival is a store on which another process holds what is served just before this one asks for
// that for the first time.
type rival struct {
	store.Backend
	held sync.Once
	t    *testing.T
}

func (s *rival) Hold(ctx context.Context, name string, mine time.Time, d time.Duration) (time.Time, error) {
	s.held.Do(func() { must(s.Backend.Hold(ctx, name, time.Time{}, 4*time.Second))(s.t) })
	return s.Backend.Hold(ctx, name, mine, d)
}

// Of two processes that begin to hold what is served within the same moment one does, and the other one
// does not end that.
func TestHoldOfAnotherProcessAtTheSameMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &rival{Backend: memory.New(nil), t: t}
		p, free := hangingBuild(t, st)
		p.start()
		held := func() time.Duration { return must(st.Collections(t.Context()))(t)[0].Held }
		for began := time.Now(); held() == 0; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatal("it is never held")
			}
		}
		time.Sleep(3 * time.Second)
		if held() <= 0 {
			t.Error("it is not held any more, by the other process")
		}
		close(free)
		time.Sleep(10 * time.Second)
		p.mustBe("1 kept, 2 serving")
	})
}
