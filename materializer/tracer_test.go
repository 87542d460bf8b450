package materializer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// spans notes what a tracer is told.
type spans struct {
	mu     sync.Mutex
	starts int
	ends   []string
}

type spanKey struct{}

func (s *spans) RunStart(ctx context.Context, run materializer.RunStart) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
	return context.WithValue(ctx, spanKey{}, run)
}

func (s *spans) RunEnd(ctx context.Context, run materializer.RunEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	start, _ := ctx.Value(spanKey{}).(materializer.RunStart)
	if start.Document != run.Document || start.Collection != run.Collection || start.From != start.Applied+1 {
		s.ends = append(s.ends, fmt.Sprintf("context of %+v", start))
	}
	s.ends = append(s.ends, fmt.Sprintf("%s %d-%d/%d %s %d", run.Document, start.From, start.To, start.Head, run.Outcome, run.Operations))
}

func TestTracer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := new(spans)
		st := newTap(memory.New(nil))
		s := specOf(foldDeleting)
		s.Retry = materializer.Retry{First: 1000 * time.Hour, Cap: 1000 * time.Hour}
		r := newDeleting(t, st, materializer.Config{Workers: 1, Tracer: tracer}, s)
		r.append("a", "x", "y")
		r.append("b", "x", "!fail")
		r.append("c", "!permanent")
		r.append("d", "delete")
		r.start()
		settle()
		reached, goOn := st.stopAt(atCommit)
		r.append("e", "x")
		<-reached
		r.append("e", "y")
		goOn()
		settle()
		st.on(atCommit, func() error { return fmt.Errorf("planted store error") })
		r.append("f", "x")
		settle()
		time.Sleep(time.Second)
		r.halt()
		want := []string{
			"a 1-2/2 done 2",
			"b 1-2/2 failed 1",
			"c 1-1/1 parked 0",
			"d 1-1/1 deleted 1",
			"e 1-1/1 still dirty 1",
			"e 2-2/2 done 1",
			"f 1-1/1 stopped 1",
			"f 1-1/1 done 1",
		}
		if !slices.Equal(tracer.ends, want) {
			t.Errorf("runs\n%q, want\n%q", tracer.ends, want)
		}
		if tracer.starts != len(tracer.ends) {
			t.Errorf("%d starts and %d ends", tracer.starts, len(tracer.ends))
		}
	})
}

func TestOutcomeNames(t *testing.T) {
	seen := make(map[string]bool)
	for o := materializer.OutcomeDone; o <= materializer.OutcomeStopped+1; o++ {
		seen[o.String()] = true
	}
	if len(seen) != 8 || !seen["unknown outcome"] {
		t.Errorf("names %v", seen)
	}
}
