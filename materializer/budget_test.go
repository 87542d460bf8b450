package materializer_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// meterStore counts the bytes that were read for runs and not committed yet.
type meterStore struct {
	store.Backend

	mu   sync.Mutex // guards the following fields
	held map[string]int64
	most int64
}

func (s *meterStore) Operations(ctx context.Context, ranges []store.Range, b store.Budget) ([][]store.Operation, error) {
	ops, err := s.Backend.Operations(ctx, ranges, b)
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := int64(0)
	for i := range ops {
		n := int64(0)
		for _, op := range ops[i] {
			n += int64(len(op.Body) + len(op.Meta))
		}
		s.held[ranges[i].Key.ID] = n
	}
	for _, n := range s.held {
		sum += n
	}
	s.most = max(s.most, sum)
	return ops, err
}

func (s *meterStore) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	s.mu.Lock()
	for i := range commits {
		delete(s.held, commits[i].Key.ID)
	}
	s.mu.Unlock()
	return s.Backend.Commit(ctx, commits)
}

// Small documents, large ones, large operations and large views share the
// budget: all are done, in whatever mixture, and never more is read than the
// budget has, but for one operation that turned out too large for its run's share
// for each worker.
func TestBudgetIsShared(t *testing.T) {
	for _, workers := range []int{1, 3, 8} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const total, large = 64 << 10, 100 << 10
				st := &meterStore{Backend: memory.New(nil), held: make(map[string]int64)}
				s := specOf(func(s text, op operation) (text, error) {
					time.Sleep(100 * time.Microsecond) // not so long that the hand is seized
					return plain(s, op)
				})
				r := newRig(t, st, materializer.Config{Workers: workers, Bytes: total}, s)
				for i, id := range numbered("d", 60) {
					switch i % 4 {
					case 0:
						r.append(id, "x")
					case 1: // a large document
						r.append(id, numbered("w", 2000)...)
					case 2: // operations and views of half of the budget
						r.append(id, strings.Repeat("x", total/2), "y", "z")
					case 3: // larger than all of it
						if i < 20 {
							r.append(id, "x", strings.Repeat("x", large), "y")
						}
					}
				}
				r.start()
				if err := r.m.Drain(within(t, time.Hour)); err != nil {
					t.Fatal(err)
				}
				settle()
				r.wantClean()
				if most := int64(total + workers*(large+100)); st.most > most {
					t.Errorf("%d bytes were read at a time, want at most %d", st.most, most)
				}
			})
		})
	}
}

// A run that waits for its share when the grace is over ends, and costs nobody an
// attempt.
func TestShutdownWhileWaitingForTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 2, Bytes: 2000, Grace: -1}, specOf(h.fold)).start()
		r.append("large", strings.Repeat("x", 3000))
		settle()
		r.append("large", "hold") // its view takes all of the budget
		<-h.reached
		r.append("a", "x")
		settle()
		r.wantView("a", "", 0, 1)
		err := r.halt()
		wantErr(t, err, materializer.ErrGraceOver)
		if f := r.load("a").Failure; f != nil {
			t.Errorf("failure %+v, want none", f)
		}
		close(h.goOn)
	})
}

// A document that is appended to without pause keeps getting fresh views, and so
// does everybody else.
func TestHotDocument(t *testing.T) {
	for _, workers := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s := specOf(func(s text, op operation) (text, error) {
				if op.Document == "hot" {
					time.Sleep(time.Millisecond)
				}
				s.Words, s.Seqs = []string{op.Body.Text}, nil
				return s, nil
			})
			r := newDeleting(t, memory.New(nil), materializer.Config{Workers: workers}, s).start()
			ctx, stop := context.WithCancel(t.Context())
			var g sync.WaitGroup
			g.Go(func() { // as much as one worker can fold
				for ctx.Err() == nil {
					r.append("hot", "x", "x", "x", "x", "x", "x", "x", "x", "x", "x")
					time.Sleep(10 * time.Millisecond)
				}
			})
			last := int64(0)
			for i := range 100 {
				id := fmt.Sprint("d", i%7)
				start := time.Now()
				token := r.append(id, "x")
				if _, err := r.texts.Get(t.Context(), id, materializer.AtLeast(token)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took > 100*time.Millisecond {
					t.Errorf("%s waited %v", id, took)
				}
				time.Sleep(97 * time.Millisecond)
				doc := r.load("hot")
				if doc.Applied <= last {
					t.Fatalf("the hot document stands at %d of %d", doc.Applied, doc.Head)
				}
				if behind := doc.Head - doc.Applied; behind > 200 {
					t.Errorf("the hot document is %d operations behind", behind)
				}
				last = doc.Applied
			}
			stop()
			g.Wait()
		})
	}
}
