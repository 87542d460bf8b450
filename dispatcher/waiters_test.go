package dispatcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/store"
)

// The second half of K8s141079: a wake that reaches a worker which no longer
// wants it must reach another one.
func TestK8s141079_WorkerThatGivesUpPassesTheWakeOn(t *testing.T) {
	errGone := errors.New("gone")
	for _, row := range []struct {
		name  string
		event func(table *Table, giveUp func())
	}{
		{"woken, then cancelled", func(table *Table, giveUp func()) {
			table.signalLocked(a, table.hash(a))
			giveUp()
		}},
		{"cancelled, then woken", func(table *Table, giveUp func()) {
			giveUp()
			table.signalLocked(a, table.hash(a))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := newTable(t, 10, 2)
				var first, second [1]Ticket
				var firstErr, secondErr error
				ctx, cancel := context.WithCancelCause(t.Context())
				var wg sync.WaitGroup
				wg.Go(func() { _, firstErr = table.Take(t.Context(), first[:]) })
				synctest.Wait()
				wg.Go(func() { _, secondErr = table.Take(ctx, second[:]) }) // the one that is woken first
				synctest.Wait()

				table.mu.Lock()
				row.event(table, func() { cancel(errGone) })
				table.mu.Unlock()

				wg.Wait()
				if !errors.Is(secondErr, errGone) {
					t.Errorf("the worker that gave up got %v, want its context's cause", secondErr)
				}
				if firstErr != nil || first[0].Key != a {
					t.Errorf("the other one got %v, %v", first[0].Key, firstErr)
				}
			})
		})
	}
}

func TestTakeOnAnEndedContextTakesNothing(t *testing.T) {
	f := newFixture(t, 10)
	f.Signal(a)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := f.Take(ctx, make([]Ticket, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", n, err)
	}
	if got := f.State(a); got != Queued {
		t.Errorf("a is %s, want queued", got)
	}
}

func TestOneSignalWakesOneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 100
		table := newTable(t, 10, workers)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() { table.Take(ctx, make([]Ticket, 1)) })
		}
		synctest.Wait()
		table.Signal(a)
		synctest.Wait()
		if got := len(table.waiters.stack); got != workers-1 {
			t.Errorf("%d workers still wait, want %d", got, workers-1)
		}
		cancel()
		wg.Wait()
		if got := len(table.waiters.stack); got != 0 {
			t.Errorf("%d workers are left in the stack", got)
		}
	})
}

func TestOneWorkerIsOnItsWayAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 3
		table := newTable(t, 10, workers)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() { table.Take(t.Context(), make([]Ticket, 1)) })
		}
		synctest.Wait()
		table.mu.Lock()
		for _, k := range []store.Key{a, b, c} {
			table.signalLocked(k, table.hash(k))
		}
		if got := len(table.waiters.stack); got != workers-1 {
			t.Errorf("%d workers still wait, want %d", got, workers-1)
		}
		table.mu.Unlock()
		wg.Wait()
	})
}

func TestRequeuedDocumentReachesAWorkerThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, 10)
		f.reach(a, Requeue)
		var wg sync.WaitGroup
		wg.Go(func() { f.take(a) })
		synctest.Wait()
		f.Done([]Ticket{f.held[a]}, make([]Result, 1), nil)
		wg.Wait()
	})
}

func TestBurstWakesAWorkerForEachDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 100
		table := newTable(t, workers, workers)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() { table.Take(t.Context(), make([]Ticket, 16)) }) // and keeps what it took
		}
		synctest.Wait()
		for i := range workers {
			table.Signal(key(fmt.Sprint(i)))
		}
		wg.Wait()
		if got := table.Counts().Running; got != workers {
			t.Errorf("%d documents run, want %d", got, workers)
		}
	})
}

// With several waiters, each document must reach one of them, and in order.
func TestCR3363_EachDocumentIsTakenOnceInOrder(t *testing.T) {
	const producers, workers, documents = 4, 8, 2000 // of each producer
	table := newTable(t, producers*documents, workers)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var mu sync.Mutex
	var taken []Ticket
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var buf [3]Ticket
			for {
				n, err := table.Take(ctx, buf[:])
				if err != nil {
					return
				}
				mu.Lock()
				taken = append(taken, buf[:n]...)
				if len(taken) == producers*documents {
					cancel()
				}
				mu.Unlock()
			}
		})
	}
	for p := range producers {
		wg.Go(func() {
			for i := range documents {
				table.Signal(key(fmt.Sprintf("%d/%06d", p, i)))
			}
		})
	}
	wg.Wait()

	slices.SortFunc(taken, func(x, y Ticket) int { return cmp.Compare(x.turn, y.turn) })
	last := make(map[byte]string)
	for _, ticket := range taken {
		id := ticket.Key.ID
		if id <= last[id[0]] {
			t.Fatalf("%s was taken after %s", id, last[id[0]])
		}
		last[id[0]] = id
	}
	if len(taken) != producers*documents {
		t.Errorf("took %d, want %d", len(taken), producers*documents)
	}
}

func TestTakeGivesEachWorkerItsShare(t *testing.T) {
	for _, row := range []struct{ queued, takers, buf, want int }{
		{1, 4, 16, 1},
		{4, 4, 16, 1},
		{5, 4, 16, 2},
		{40, 4, 16, 10},
		{400, 4, 16, 16},
		{40, 1, 16, 16},
		{40, 4, 1, 1},
	} {
		table := newTable(t, 1000, row.takers)
		for i := range row.queued {
			table.Signal(key(fmt.Sprint(i)))
		}
		n, err := table.Take(t.Context(), make([]Ticket, row.buf))
		if n != row.want || err != nil {
			t.Errorf("%+v: took %d, %v", row, n, err)
		}
	}
}
