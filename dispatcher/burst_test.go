package dispatcher

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/bus"
	"github.com/refold-go/refold/store"
)

// dirtySet is what a store knows of documents 0, 1, 2, …, each of which is
// appended to once.
type dirtySet struct {
	mu     sync.Mutex
	ids    []string
	dirty  []bool
	oldest int // no document before it is dirty
	end    int // no document from here on was appended to
	runs   int
	clean  int
}

func (s *dirtySet) append(i int) store.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty[i], s.end = true, i+1
	return key(s.ids[i])
}

// fold reports whether all documents have been folded now.
func (s *dirtySet) fold(k store.Key) bool {
	i, _ := strconv.Atoi(k.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs++
	if s.dirty[i] {
		s.dirty[i] = false
		s.clean++
	}
	return s.clean == len(s.ids)
}

func (s *dirtySet) Runnable(context.Context) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		for i := 0; ; i++ {
			s.mu.Lock()
			for s.oldest < s.end && !s.dirty[s.oldest] {
				s.oldest++
			}
			i = max(i, s.oldest)
			end, dirty := i >= s.end, i < s.end && s.dirty[i]
			s.mu.Unlock()
			if end || dirty && !yield(store.Runnable{Key: key(s.ids[i])}, nil) {
				return
			}
		}
	}
}

// A million documents at once go through a bus and a table for 64. What does not
// fit is found in the store again, and not by the sweep: the bubble's time, which
// goes on when all goroutines wait, stands still.
func TestW3_BurstIntoSmallBuffersLosesNothing(t *testing.T) {
	documents := 1_000_000
	if testing.Short() {
		documents = 100_000
	}
	const limit, workers = 64, 4
	set := &dirtySet{dirty: make([]bool, documents)}
	for i := range documents {
		set.ids = append(set.ids, strconv.Itoa(i))
	}
	synctest.Test(t, func(t *testing.T) {
		table := newTable(t, limit, workers)
		d := &Dispatcher{Table: table, Runnable: set.Runnable, Bus: bus.New[store.Key](), Buffer: limit}
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { d.Run(ctx) })
		for range workers {
			wg.Go(func() {
				buf, results := make([]Ticket, 16), make([]Result, 16)
				for {
					n, err := table.Take(ctx, buf)
					if err != nil {
						return
					}
					all := false
					for i := range n {
						all = set.fold(buf[i].Key) || all
					}
					table.Done(buf[:n], results, nil)
					if all {
						cancel()
					}
				}
			})
		}
		for i := range documents {
			d.Bus.Publish(set.append(i))
		}
		wg.Wait()
		if lost := documents - set.clean; lost > 0 {
			t.Errorf("%d of %d documents were lost", lost, documents)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("work lay about for %s", waited)
		}
		t.Logf("%d runs, %+v", set.runs, table.Counts())
	})
}
