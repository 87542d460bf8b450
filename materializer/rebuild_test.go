package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

type texts = materializer.Collection[text, word]

// process is a materializer with versions of texts.
type process struct {
	*rig
	of map[int]*texts
}

// newProcess makes one with folds by version.
func newProcess(t testing.TB, st store.Backend, cfg materializer.Config, folds map[int]foldFunc) *process {
	t.Helper()
	m, err := materializer.New(st, cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{rig: &rig{t: t, st: st, m: m}, of: make(map[int]*texts)}
	for version := range 10 {
		if f := folds[version]; f != nil {
			if p.of[version], err = materializer.Register(m, versioned(version, f)); err != nil {
				t.Fatal(err)
			}
			p.texts = p.of[version]
		}
	}
	t.Cleanup(func() { p.halt() })
	return p
}

func (p *process) start() *process { p.rig.start(); return p }

// states describes the generations that live.
func (p *process) states() string {
	p.t.Helper()
	all, err := p.m.Generations(context.Background(), "texts")
	if err != nil {
		p.t.Fatal(err)
	}
	var states []string
	for _, g := range all {
		if g.State != materializer.Dropping {
			states = append(states, fmt.Sprint(g.Version, " ", g.State))
		}
	}
	return strings.Join(states, ", ")
}

func (p *process) mustBe(want string) {
	p.t.Helper()
	if got := p.states(); got != want {
		p.t.Errorf("the generations are %q, want %q", got, want)
	}
}

// mustServe checks that reads give the views of a version, with all operations.
func (p *process) mustServe(version int, id, want string) {
	p.t.Helper()
	v, err := p.texts.Get(context.Background(), id)
	if err != nil || v.Version != version || v.State.String() != want || v.Applied != v.Head {
		p.t.Errorf("%s is %+v, %v, want %q of version %d", id, v, err, want, version)
	}
}

// mustEqualFromScratch compares all that is served with what the fold gives.
func (p *process) mustEqualFromScratch(version int, f foldFunc) {
	p.t.Helper()
	ctx := context.Background()
	n := 0
	for v, err := range p.texts.All(ctx) {
		if err != nil {
			p.t.Fatal(err)
		}
		var want text
		for op, err := range p.texts.Operations(ctx, v.ID, 1) {
			if err != nil {
				p.t.Fatal(err)
			}
			want, _ = f(want, op)
		}
		if v.Version != version || v.Applied != v.Head || v.State.String() != want.String() {
			p.t.Fatalf("%s is version %d with %d of %d operations, %.100q, want version %d and %.100q",
				v.ID, v.Version, v.Applied, v.Head, v.State, version, want)
		}
		n++
	}
	if n == 0 {
		p.t.Error("there are no documents")
	}
}

// upTo has folds of versions.
func upTo(folds ...foldFunc) map[int]foldFunc {
	of := make(map[int]foldFunc)
	for i, f := range folds {
		of[i+1] = f
	}
	return of
}

// P41: a rebuild of no document, of one and of many comes to its end, in a process that
// has the new code alone, and in one that has both.
func TestP41_EmptyOneAndMany(t *testing.T) {
	for _, n := range []int{0, 1, 700} {
		for _, folds := range []map[int]foldFunc{upTo(fold, upper), {2: upper}} {
			t.Run(fmt.Sprint(n, " documents, ", len(folds), " folds"), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					st := memory.New(nil)
					old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
					for i := range n {
						old.append(fmt.Sprint("d", i), "a", "b")
					}
					if err := old.m.Drain(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := old.halt(); err != nil {
						t.Error(err)
					}
					p := newProcess(t, st, materializer.Config{}, folds).start()
					time.Sleep(10 * time.Second)
					p.mustBe("1 kept, 2 serving")
					if n > 0 {
						p.mustServe(2, "d0", "A B")
						p.mustEqualFromScratch(2, upper)
					}
					if h, err := p.m.Health(t.Context()); err != nil || h.Dirty+h.Building != 0 {
						t.Errorf("health is %+v, %v", h, err)
					}
				})
			})
		}
	}
}

// P38: views are rebuilt while they are served and while writers append: no read fails,
// none sees less than its token says, and none sees a half-built generation. What is
// served stays fresh, and the progress can be asked for.
func TestP38_OnlineWithWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		slow := func(s text, op operation) (text, error) {
			time.Sleep(10 * time.Millisecond)
			return upper(s, op)
		}
		old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		for i := range 500 {
			old.append(fmt.Sprint("d", i), "a", "b")
		}
		if err := old.m.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		old.halt()
		p := newProcess(t, st, materializer.Config{Workers: 2}, upTo(fold, slow)).start()
		var g sync.WaitGroup
		for w := range 4 {
			g.Go(func() {
				last := 0
				for i := range 300 {
					id := fmt.Sprint("d", (i*7+w)%40*4+w)
					token, err := p.of[1+i%2].Append(t.Context(), id, word{"c"})
					if err != nil {
						t.Error(err)
						return
					}
					v, err := p.of[1+w%2].Get(t.Context(), id, materializer.AtLeast(token))
					if err != nil || v.Applied < v.Head && v.Head < 3 || v.Version < last || len(v.State.Words) != int(v.Applied) {
						t.Errorf("read %+v, %v after version %d", v, err, last)
					}
					if first := map[int]string{1: "a", 2: "A"}[v.Version]; v.State.Words[0] != first {
						t.Errorf("version %d has made %v", v.Version, v.State)
					}
					last = v.Version
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		time.Sleep(3 * time.Second)
		all, err := p.m.Generations(t.Context(), "texts")
		if err != nil || len(all) != 2 || all[1].State != materializer.Building || !all[1].Registered || all[1].Dirty == 0 || all[1].Rate <= 0 || all[1].Left <= 0 || all[1].Made != 500 {
			t.Errorf("the progress is %+v, %v", all, err)
		}
		if h, err := p.m.Health(t.Context()); err != nil || h.Building < 100 || h.Dirty > 8 {
			t.Errorf("health is %d dirty, %d building, %v", h.Dirty, h.Building, err)
		}
		began := time.Now()
		if err := p.m.Drain(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("Drain took %v beside a build: %v", time.Since(began), err)
		}
		g.Wait()
		time.Sleep(20 * time.Second)
		p.mustBe("1 kept, 2 serving")
		p.mustEqualFromScratch(2, upper)
	})
}

// P39: a rebuild has rows of its own, and touches nothing of another collection or of
// what is served.
func TestP39_OnlyItsOwnRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		p := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		if err := st.Register(t.Context(), "others", 3); err != nil {
			t.Fatal(err)
		}
		p.append("a", "x")
		settle()
		if _, err := st.Append(t.Context(), []store.Append{{Key: store.Key{Collection: "others", ID: "a"}, Entries: []store.Entry{{Body: []byte("1")}}}}); err != nil {
			t.Fatal(err)
		}
		keys := []store.Key{{Collection: "others", ID: "a"}, ownKey("a")}
		before, err := st.Load(t.Context(), keys, store.WithViews)
		if err != nil {
			t.Fatal(err)
		}
		p.halt()
		next := newProcess(t, st, materializer.Config{}, map[int]foldFunc{2: upper}).start()
		time.Sleep(time.Minute)
		next.mustBe("1 kept, 2 serving")
		after, err := st.Load(t.Context(), keys, store.WithViews)
		if err != nil || fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("what was %v is %v, %v", before, after, err)
		}
	})
}

// P40: deleted documents stay deleted in the new generation, and forgotten ones stay
// forgotten.
func TestP40_DeletedStaysDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		deleting := func(f foldFunc) foldFunc {
			return func(s text, op operation) (text, error) {
				if op.Body.Text == "delete" {
					return s, materializer.Deleted
				}
				return f(s, op)
			}
		}
		p := newProcess(t, st, materializer.Config{}, upTo(deleting(fold))).start()
		p.append("deleted", "x", "delete")
		p.append("again", "x", "delete", "y")
		p.append("forgotten", "x")
		settle()
		if err := p.texts.Forget(t.Context(), "forgotten"); err != nil {
			t.Fatal(err)
		}
		p.halt()
		next := newProcess(t, st, materializer.Config{}, map[int]foldFunc{2: deleting(upper)}).start()
		time.Sleep(time.Minute)
		next.mustServe(2, "again", "Y")
		_, err := next.texts.Get(t.Context(), "deleted")
		wantErr(t, err, materializer.ErrDeleted)
		_, err = next.texts.Get(t.Context(), "forgotten")
		wantErr(t, err, materializer.ErrForgotten)
	})
}

// P42, F12: two processes that start the same rebuild at once make one of it, and each error
// is told.
func TestP42_F12_TwoRebuildsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		cfg := materializer.Config{Shared: true}
		old := newProcess(t, st, cfg, upTo(fold)).start()
		for i := range 300 {
			old.append(fmt.Sprint("d", i), "a")
		}
		var mu sync.Mutex
		folds := make(map[string]int)
		counted := func(s text, op operation) (text, error) {
			mu.Lock()
			folds[op.Document]++
			mu.Unlock()
			time.Sleep(time.Millisecond)
			return upper(s, op)
		}
		a := newProcess(t, st, cfg, map[int]foldFunc{2: counted}).start()
		b := newProcess(t, st, cfg, map[int]foldFunc{2: counted}).start()
		time.Sleep(time.Minute)
		for _, p := range []*process{a, b, old} {
			p.mustBe("1 kept, 2 serving")
		}
		a.mustEqualFromScratch(2, upper)
		for id, n := range folds {
			if n != 1 {
				t.Errorf("%s was folded %d times", id, n)
			}
		}
		if s := a.m.Stats(); s.Runs == 0 || s.Lost > 0 || b.m.Stats().Runs == 0 {
			t.Errorf("one has %+v, the other %+v", s, b.m.Stats())
		}
	})
}

// P43: a few documents among many of another collection are found without going through
// the operations of those.
func TestP43_ByDocumentAndNotByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		for i := range 3000 {
			if _, err := st.Append(t.Context(), []store.Append{{Key: store.Key{Collection: "many", ID: fmt.Sprint(i)}, Entries: []store.Entry{{Body: []byte("1")}}}}); err != nil {
				t.Fatal(err)
			}
		}
		p := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		p.append("a", "x")
		settle()
		p.halt()
		before := len(st.passed())
		next := newProcess(t, st, materializer.Config{}, map[int]foldFunc{2: upper}).start()
		time.Sleep(time.Minute)
		next.mustServe(2, "a", "X")
		read := 0
		for _, point := range st.passed()[before:] {
			if point == operations {
				read++
			}
		}
		if read != 1 {
			t.Errorf("operations were read %d times, want once", read)
		}
	})
}

// A process of the old code and one of the new share the store through a whole rebuild:
// the old one folds what is served until the switch, and its own afterwards, and what
// was kept long enough goes.
func TestOldAndNewShareARebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		var log logged
		old := newProcess(t, st, materializer.Config{Shared: true, Logger: zerolog.New(&log)}, upTo(fold)).start()
		for i := range 300 {
			old.append(fmt.Sprint("d", i), "a")
		}
		slow := func(s text, op operation) (text, error) {
			time.Sleep(5 * time.Millisecond)
			return upper(s, op)
		}
		next := newProcess(t, st, materializer.Config{Shared: true, Workers: 2}, map[int]foldFunc{2: slow}).start()
		versions := make(map[int]int)
		for i := range 400 {
			id := fmt.Sprint("d", i%20)
			for _, p := range []*process{old, next} {
				token := p.append(id, "b")
				for _, reader := range []*process{old, next} {
					v, err := reader.texts.Get(within(t, time.Minute), id, materializer.AtLeast(token))
					if err != nil {
						t.Fatalf("after %d: %v", i, err)
					}
					versions[v.Version]++
				}
			}
			time.Sleep(40 * time.Millisecond)
		}
		if len(versions) != 2 || versions[1] < 10 || versions[2] < 10 {
			t.Errorf("read %v", versions)
		}
		time.Sleep(time.Second)
		next.mustBe("1 kept, 2 serving")
		next.mustEqualFromScratch(2, upper)
		docs, err := st.Load(t.Context(), []store.Key{ownKey("d3")}, store.WithViews)
		if err != nil || docs[0].Applied != docs[0].Head || !strings.HasPrefix(old.state(docs[0]).String(), "a b b") {
			t.Errorf("the old generation has %+v, %v", docs, err)
		}
		time.Sleep(25 * time.Hour)
		next.mustBe("2 serving")
		token := old.append("d0", "c")
		if _, err := old.texts.Get(within(t, time.Minute), "d0", materializer.AtLeast(token)); err != nil {
			t.Errorf("the old process reads what is served: %v", err)
		}
		if s := log.String(); strings.Count(s, "another version is served") != 1 || strings.Count(s, "the generation of this fold was dropped") != 1 {
			t.Errorf("it says %s", s)
		}
	})
}

// A document that parks in the new generation only holds back the switch and is told, once;
// resumed when the fold is mended it goes on, or the switch is forced.
func TestParkedInTheNewOnly(t *testing.T) {
	for _, force := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			st := memory.New(nil)
			var log logged
			var mended atomic.Bool
			bad := func(s text, op operation) (text, error) {
				if op.Body.Text == "bad" && !mended.Load() {
					return s, materializer.Permanent(errPlanted)
				}
				return upper(s, op)
			}
			old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
			old.append("a", "x", "bad")
			old.append("b", "x")
			settle()
			old.halt()
			p := newProcess(t, st, materializer.Config{Logger: zerolog.New(&log)}, upTo(fold, bad)).start()
			time.Sleep(time.Minute)
			p.mustBe("1 serving, 2 building")
			p.mustServe(1, "a", "x bad")
			if n := strings.Count(log.String(), "holds back the switch"); n != 1 {
				t.Errorf("it is told %d times: %s", n, &log)
			}
			all, err := p.m.Generations(t.Context(), "texts")
			if err != nil || all[1].Parked != 1 {
				t.Errorf("the generations are %+v, %v", all, err)
			}
			for d, err := range p.of[2].Parked(t.Context()) {
				if err != nil || d.ID != "a" || d.Version != 2 || d.Seq != 2 {
					t.Errorf("parked is %+v, %v", d, err)
				}
			}
			err = p.of[2].Switch(t.Context(), false)
			hindered, ok := errors.AsType[*materializer.HinderedError](err)
			if !ok || hindered.Why != store.ParkedBehind || hindered.Document != "a" || hindered.Version != 2 {
				t.Errorf("the switch says %v", err)
			}
			wantErr(t, err, materializer.ErrHindered)
			mended.Store(true)
			if force {
				if err := p.of[2].Switch(t.Context(), true); err != nil {
					t.Error(err)
				}
				p.mustBe("1 kept, 2 serving")
			}
			if n, err := p.of[2].ResumeAll(t.Context()); n != 1 || err != nil {
				t.Errorf("resumed %d, %v", n, err)
			}
			time.Sleep(time.Minute)
			p.mustBe("1 kept, 2 serving")
			p.mustServe(2, "a", "X BAD")
			p.mustServe(2, "b", "X")
		})
	}
}

// What is parked in the old generation only is taken up by the new one.
func TestParkedInTheOldOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		p := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		p.append("a", "x", "!permanent", "y")
		settle()
		p.wantParked("a", 2, 1, "planted")
		p.halt()
		next := newProcess(t, st, materializer.Config{}, map[int]foldFunc{2: upper}).start()
		time.Sleep(time.Minute)
		next.mustBe("1 kept, 2 serving")
		next.mustServe(2, "a", "X !PERMANENT Y")
	})
}

// A build that is cancelled is dropped, and what is served stays; another one begins anew.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		never := func(s text, op operation) (text, error) {
			return s, materializer.RetryAfter(time.Second, errPlanted)
		}
		var log logged
		spec := versioned(2, never)
		spec.Retry.Attempts = 1 << 30
		p := newProcess(t, st, materializer.Config{Logger: zerolog.New(&log)}, upTo(fold))
		building, err := materializer.Register(p.m, spec)
		if err != nil {
			t.Fatal(err)
		}
		old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		old.append("a", "x")
		settle()
		old.halt()
		p.start()
		time.Sleep(time.Minute)
		p.mustBe("1 serving, 2 building")
		wantErr(t, p.of[1].Cancel(t.Context()), materializer.ErrInvalid)
		if err := building.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
		wantErr(t, building.Cancel(t.Context()), materializer.ErrNotFound)
		p.append("a", "y")
		time.Sleep(time.Minute)
		p.mustBe("1 serving")
		p.mustServe(1, "a", "x y")
		if !strings.Contains(log.String(), "the generation of this fold was dropped") {
			t.Errorf("it says %s", &log)
		}
		if v, err := building.Get(t.Context(), "a"); err != nil || v.Version != 1 {
			t.Errorf("read %+v, %v", v, err)
		}
		p.halt()
		next := newProcess(t, st, materializer.Config{}, map[int]foldFunc{2: upper}).start()
		time.Sleep(time.Minute)
		next.mustServe(2, "a", "X Y")
	})
}

// The previous generation is served again, fresh, and the other one is not switched to by
// itself; with a switch it is.
func TestRollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		p := newProcess(t, st, materializer.Config{}, upTo(fold, upper))
		p.append("a", "x")
		p.start()
		time.Sleep(time.Minute)
		p.mustServe(2, "a", "X")
		p.append("a", "y")
		p.append("b", "x")
		if err := p.of[2].Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.m.Drain(within(t, time.Second)); err != nil {
			t.Errorf("Drain: %v", err)
		}
		p.mustServe(1, "a", "x y")
		p.mustServe(1, "b", "x")
		wantErr(t, p.of[2].Rollback(t.Context()), materializer.ErrNotFound)
		time.Sleep(48 * time.Hour)
		p.mustBe("1 serving, 2 set aside")
		p.append("a", "z")
		time.Sleep(time.Second)
		if err := p.of[2].Switch(t.Context(), false); err != nil {
			t.Error(err)
		}
		p.mustBe("1 kept, 2 serving")
		p.mustServe(2, "a", "X Y Z")
	})
}
