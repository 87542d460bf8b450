package materializer_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// F11: what is appended before, between and behind the slices in which a new generation
// gets its rows, to documents that have theirs and that do not, is in its views once.
func TestF11_AppendsAroundEachSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memory.New(nil)
		old := newProcess(t, inner, materializer.Config{}, upTo(fold)).start()
		for i := range 400 {
			old.append(fmt.Sprintf("d%03d", i), "a")
		}
		if err := old.m.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		old.halt()
		st := &steps{newTap(inner)}
		n := 0
		appender := newProcess(t, inner, materializer.Config{}, upTo(fold))
		st.onPoint(func(point string) error {
			if point == atStep || point == stepDone {
				n++
				for _, id := range []string{"d000", "d127", "d128", "d255", "d256", "d399", fmt.Sprint("new", n)} {
					appender.append(id, fmt.Sprint("b", n))
				}
			}
			return nil
		})
		p := newProcess(t, st, materializer.Config{}, map[int]foldFunc{2: upper}).start()
		time.Sleep(time.Minute)
		st.onPoint(nil)
		p.mustBe("1 kept, 2 serving")
		time.Sleep(time.Second)
		p.mustEqualFromScratch(2, upper)
		if n < 8 {
			t.Errorf("appended at %d points", n)
		}
	})
}

// F21: documents that were there before their collection was registered at all, and
// those of a version that nobody has any more, are built.
func TestF21_DocumentsFromBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		before := &rig{t: t, st: st}
		before.appendRaw("a", store.Entry{Body: []byte(`{"Text":"x"}`)})
		p := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		if err := p.m.Drain(within(t, time.Second)); err != nil {
			t.Fatal(err)
		}
		p.mustServe(1, "a", "x")
		p.halt()
		p.append("b", "y") // nobody runs
		next := newProcess(t, st, materializer.Config{}, map[int]foldFunc{7: upper}).start()
		time.Sleep(time.Minute)
		next.mustServe(7, "a", "X")
		next.mustServe(7, "b", "Y")
	})
}

// W7: an operation that arrives while a document is being folded for the new generation
// sends it round again, so that its view is not left behind.
func TestW7_AppendDuringARunOfABuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		old.append("a", "hold", "x")
		settle()
		old.halt()
		h := newHold()
		p := newProcess(t, st, materializer.Config{}, upTo(fold, h.fold)).start()
		<-h.reached
		p.append("a", "y")
		time.Sleep(100 * time.Millisecond)
		p.mustServe(1, "a", "hold x y")
		close(h.goOn)
		time.Sleep(time.Minute)
		p.mustBe("1 kept, 2 serving")
		p.mustServe(2, "a", "hold x y")
	})
}

// W8: two processes that build one document at once, because one of them stalled for
// longer than its lease, store one result.
func TestW8_TwoBuildersOfOneDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		cfg := materializer.Config{Shared: true}
		old := newProcess(t, st, cfg, upTo(fold)).start()
		old.append("a", "hold", "x")
		settle()
		h := newHold()
		stalled := newProcess(t, st, cfg, map[int]foldFunc{2: h.fold}).start()
		<-h.reached
		other := newProcess(t, st, cfg, map[int]foldFunc{2: fold}).start()
		time.Sleep(time.Minute)
		other.mustBe("1 kept, 2 serving")
		other.append("a", "y")
		time.Sleep(time.Second)
		close(h.goOn)
		time.Sleep(time.Second)
		other.mustServe(2, "a", "hold x y")
		if s := stalled.m.Stats(); s.Lost == 0 {
			t.Errorf("nothing was refused: %+v", s)
		}
	})
}

// No document is folded by two workers at once in one version, however often another
// generation is served meanwhile, and no read goes back but by a rollback.
func TestNeverFoldedAtOnceOverSwitches(t *testing.T) {
	for _, cfg := range []materializer.Config{{Workers: 3, BuildShare: 1}, {Workers: 3, BuildShare: 1, Shared: true}} {
		synctest.Test(t, func(t *testing.T) {
			st := memory.New(nil)
			var mu sync.Mutex
			folding := make(map[string]int)
			one := func(version int, f foldFunc) foldFunc {
				return func(s text, op operation) (text, error) {
					key := fmt.Sprint(version, " ", op.Document)
					mu.Lock()
					if folding[key]++; folding[key] > 1 {
						t.Errorf("%s is folded twice at once", key)
					}
					mu.Unlock()
					time.Sleep(time.Millisecond)
					mu.Lock()
					folding[key]--
					mu.Unlock()
					return f(s, op)
				}
			}
			p := newProcess(t, st, cfg, upTo(one(1, fold), one(2, upper))).start()
			var g sync.WaitGroup
			for w := range 3 {
				g.Go(func() {
					for i := range 2000 {
						p.append(fmt.Sprint("d", (i*5+w)%12), "x")
						time.Sleep(time.Millisecond)
					}
				})
			}
			switches := 0
			for range 40 {
				time.Sleep(50 * time.Millisecond)
				for _, version := range []int{1, 2} {
					if err := p.of[version].Switch(t.Context(), false); err == nil {
						switches++
					}
				}
				if p.of[1].Rollback(t.Context()) == nil {
					switches++
				}
			}
			g.Wait()
			time.Sleep(time.Minute)
			if switches < 20 {
				t.Errorf("there were %d switches, want more", switches)
			}
			if s := p.m.Stats(); s.Stale > 0 {
				t.Logf("%d runs were stale", s.Stale)
			}
			v, err := p.texts.Get(t.Context(), "d0")
			if err != nil {
				t.Fatal(err)
			}
			p.mustEqualFromScratch(v.Version, map[int]foldFunc{1: fold, 2: upper}[v.Version])
		})
	}
}

// A new fold that is slower than the old one is behind with documents that change all the
// time. Then what is served is held for a moment, and no reader waits for longer.
func TestWhatIsServedIsHeldForAMoment(t *testing.T) {
	for _, shared := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st := memory.New(nil)
			slow := func(s text, op operation) (text, error) {
				time.Sleep(2 * time.Millisecond)
				return upper(s, op)
			}
			cfg := materializer.Config{Workers: 2, Shared: shared}
			old := newProcess(t, st, cfg, upTo(fold)).start()
			old.append("d0", "x")
			settle()
			p, reader := (*process)(nil), old
			if shared {
				p = newProcess(t, st, cfg, map[int]foldFunc{2: slow}).start()
			} else {
				old.halt()
				p = newProcess(t, st, cfg, upTo(fold, slow)).start()
				reader = p
			}
			var longest time.Duration
			began := time.Now()
			for i := 0; time.Since(began) < 5*time.Second; i++ {
				id := fmt.Sprint("d", i%3)
				token := p.append(id, "x")
				asked := time.Now()
				v, err := reader.texts.Get(within(t, time.Minute), id, materializer.AtLeast(token))
				if err != nil {
					t.Fatal(err)
				}
				if v.Version == 2 {
					break
				}
				longest = max(longest, time.Since(asked))
				time.Sleep(time.Millisecond)
			}
			p.mustBe("1 kept, 2 serving")
			if longest > 1200*time.Millisecond {
				t.Errorf("a reader has waited for %v", longest)
			}
		})
	}
}

// What is held is not folded, and not passed over by who waits: Drain ends when the
// views are there.
func TestHeldIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		p := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		p.append("a", "x")
		settle()
		look := func() {
			if err := p.m.Unpause(t.Context(), "texts"); err != nil { // it looks at the store
				t.Fatal(err)
			}
		}
		must(st.Hold(t.Context(), "texts", time.Time{}, 5*time.Second))(t)
		look()
		p.append("a", "y")
		drained := make(chan error, 1)
		go func() { drained <- p.m.Drain(t.Context()) }()
		time.Sleep(4 * time.Second)
		p.wantView("a", "x", 1, 2)
		select {
		case err := <-drained:
			t.Errorf("Drain returned %v although a view lacks something", err)
		default:
		}
		time.Sleep(2 * time.Second)
		look()
		if err := <-drained; err != nil {
			t.Error(err)
		}
		p.wantView("a", "x y", 2, 2)
	})
}

// A build goes on while documents that are served wait all the time, and they go on while
// everything of a build is dirty.
func TestNeitherStarvesTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		slow := func(f foldFunc) foldFunc {
			return func(s text, op operation) (text, error) {
				time.Sleep(5 * time.Millisecond)
				return f(s, op)
			}
		}
		old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		for i := range 2000 {
			old.append(fmt.Sprint("d", i), "a")
		}
		if err := old.m.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		old.halt()
		p := newProcess(t, st, materializer.Config{Workers: 2, Queue: 64}, upTo(slow(fold), slow(upper))).start()
		// More than two workers can do: the queue is never empty.
		for i := range 1000 {
			p.append(fmt.Sprint("d", i%50), "b")
			p.append(fmt.Sprint("d", i%50+50), "b")
			time.Sleep(4 * time.Millisecond)
		}
		all, err := p.m.Generations(t.Context(), "texts")
		if err != nil {
			t.Fatal(err)
		}
		n, runs := all[1].Dirty, p.m.Stats().Runs
		if n > 1800 {
			t.Errorf("%d of 2000 documents are left to build after 4 s", n)
		}
		if live := runs - (2000 - n); live < 500 {
			t.Errorf("of what is served there were %d runs in 4 s beside the build", live)
		}
		time.Sleep(2 * time.Minute)
		p.mustBe("1 kept, 2 serving")
	})
}
