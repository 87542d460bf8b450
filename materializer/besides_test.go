package materializer_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// lateSwitch is a store that switches when it is told to, and counts how often runnable documents are read.
type lateSwitch struct {
	store.Backend
	may   chan struct{} // closed when it may switch
	reads atomic.Int64
}

func (s *lateSwitch) Switch(ctx context.Context, generation string, terms store.SwitchTerms) (store.Obstacle, error) {
	select {
	case <-s.may:
		return s.Backend.Switch(ctx, generation, terms)
	default:
		return store.Obstacle{Why: store.Behind}, nil
	}
}

func (s *lateSwitch) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	s.reads.Add(1)
	return s.Backend.Runnable(ctx, collections)
}

// Documents whose folds hang in the pool of builds when their generation is served are left alone by the
// table, however small that is: runnable documents are not read again and again meanwhile, a
// reader that waits does not make the table go in a circle, they are not held to be overlooked, and
// all others are folded. When the folds return they are folded on.
func TestHandedOverWhileTheyAreFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &lateSwitch{Backend: memory.New(nil), may: make(chan struct{})}
		first := newProcess(t, st, materializer.Config{}, upTo(fold)) // never runs
		for i := range 6 {
			first.append(fmt.Sprint("d", i), "hold")
		}
		reached, goOn := make(chan string, 6), make(chan struct{})
		hangs := func(s text, op operation) (text, error) {
			if op.Body.Text == "hold" {
				reached <- op.Document
				<-goOn
			}
			return upper(s, op)
		}
		p := newProcess(t, st, materializer.Config{Workers: 6, BuildShare: 1, Queue: 1}, map[int]foldFunc{2: hangs}).start()
		for range 6 {
			<-reached
		}
		close(st.may)
		time.Sleep(10 * time.Second)
		p.mustBe("1 kept, 2 serving")
		for i := range 6 {
			p.append(fmt.Sprint("d", i), "x")
		}
		waiting, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := p.texts.Get(waiting, "d3", materializer.AtLeast(must(p.m.End(waiting))(t)))
			ended <- err
		}()
		before, runs := st.reads.Load(), p.m.Stats().Signals
		time.Sleep(2 * time.Minute)
		if n := st.reads.Load() - before; n > 60 {
			t.Errorf("runnable documents were read %d times in two minutes, in which nothing happens", n)
		}
		if n := p.m.Stats().Signals - runs; n > 100 {
			t.Errorf("there were %d signals in two minutes, in which nothing happens", n)
		}
		if h, err := p.m.Health(t.Context()); err != nil || h.Stats.Overlooked > 0 {
			t.Errorf("health is %+v, %v", h, err)
		}
		if x, err := p.texts.Explain(t.Context(), "d3"); err != nil || x.State != materializer.StateRunning {
			t.Errorf("explained as %v, %v, want that it runs", x, err)
		}
		token := p.append("other", "y")
		if v, err := p.texts.Get(within(t, time.Second), "other", materializer.AtLeast(token)); err != nil || v.Version != 2 {
			t.Errorf("another document is %+v, %v", v, err)
		}
		select {
		case err := <-ended:
			t.Errorf("a reader has returned %v", err)
		default:
		}
		close(goOn)
		if err := <-ended; err != nil {
			t.Errorf("a reader has returned %v", err)
		}
		end()
		if err := p.m.Drain(within(t, time.Second)); err != nil {
			t.Error(err)
		}
		for i := range 6 {
			p.mustServe(2, fmt.Sprint("d", i), "HOLD X")
		}
	})
}

// Documents whose folds hang in the table's pool when their generation is set aside are left alone by the
// pool of builds in the same way.
func TestSetAsideWhileTheyAreFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &lateSwitch{Backend: memory.New(nil), may: make(chan struct{})}
		close(st.may)
		reached, goOn := make(chan string, 3), make(chan struct{})
		hangs := func(s text, op operation) (text, error) {
			if op.Body.Text == "hold" {
				reached <- op.Document
				<-goOn
			}
			return upper(s, op)
		}
		old := newProcess(t, st, materializer.Config{}, upTo(fold)).start()
		for i := range 3 {
			old.append(fmt.Sprint("d", i), "a")
		}
		settle()
		old.halt()
		p := newProcess(t, st, materializer.Config{Workers: 4}, upTo(fold, hangs)).start()
		time.Sleep(5 * time.Second)
		p.mustBe("1 kept, 2 serving")
		for i := range 3 {
			p.append(fmt.Sprint("d", i), "hold")
		}
		for range 3 {
			<-reached
		}
		if err := p.texts.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			p.append(fmt.Sprint("d", i), "x")
		}
		time.Sleep(time.Second)
		before := st.reads.Load()
		time.Sleep(2 * time.Minute)
		if n := st.reads.Load() - before; n > 60 {
			t.Errorf("runnable documents were read %d times in two minutes, in which nothing happens", n)
		}
		close(goOn)
		time.Sleep(10 * time.Second)
		all := must(p.m.Generations(t.Context(), "texts"))(t)
		if len(all) != 2 || all[1].State != materializer.SetAside || all[1].Dirty != 0 {
			t.Errorf("the generations are %+v", all)
		}
	})
}
