//go:build !race

package materializer

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// These are exact numbers on the memory store, so that whoever adds an allocation
// to a hot path has to say why. Memory that grows now and then, as that of a
// document's operations, is less than one a call.

type added struct{ By int }

// counter is a materializer whose runs are made by hand.
type counter struct {
	e    *engine
	sums *Collection[int, added]
	buf  [64]dispatcher.Ticket
}

func newCounter(t *testing.T) *counter {
	st := memory.New(nil)
	m, err := New(st, Config{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	sums, err := Register(m, Spec[int, added]{
		Name: "sums", Version: 1,
		Fold: func(sum int, op Operation[added]) (int, error) { return sum + op.Body.By, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(m, func(error) {}, nil)
	own := make([]store.Key, 0, 1)
	stop := st.Listen(store.Listener{Stored: e.stored(), Dirty: func(keys []store.Key) {
		own = m.own(own[:0], keys)
		m.table.SignalAll(own)
	}})
	t.Cleanup(stop)
	return &counter{e: e, sums: sums}
}

func (c *counter) append(t *testing.T, id string) {
	if _, err := c.sums.Append(t.Context(), id, added{1000}); err != nil {
		t.Fatal(err)
	}
}

// run does what a worker of the pool does.
func (c *counter) run(t *testing.T) {
	n, err := c.e.Take(t.Context(), c.buf[:])
	if err != nil {
		t.Fatal(err)
	}
	c.e.Done(c.buf[:n], c.e.work(context.Background(), c.buf[:n]))
}

func allocations(t *testing.T, what string, want float64, f func()) {
	t.Helper()
	for range 100 {
		f() // what grows, grows now
	}
	if got := testing.AllocsPerRun(1000, f); got != want {
		t.Errorf("%s takes %v allocations, want %v", what, got, want)
	}
}

func TestAllocationsOfAnAppend(t *testing.T) {
	c := newCounter(t)
	// The operation as an interface, and its JSON; the result.
	allocations(t, "an append", 3, func() { c.append(t, "a") })
}

// In a bubble no time passes, so that no run is cut short because it took long.
func TestAllocationsOfARun(t *testing.T) { synctest.Test(t, testAllocationsOfARun) }

func testAllocationsOfARun(t *testing.T) {
	ids := make([]string, 64)
	for i := range ids {
		ids[i] = string(rune('A' + i))
	}
	all := func(c *counter, ids []string) func() {
		return func() {
			for _, id := range ids {
				c.append(t, id)
			}
			c.run(t)
		}
	}
	one, many := newCounter(t), newCounter(t)
	// 3 are of the append. Of a run, 9 are JSON's for one view and one operation of
	// each document; the others are for the whole hand, however many documents it has.
	allocations(t, "an append and a run of one document", 36, all(one, ids[:1]))
	allocations(t, "64 appends and a run of their documents", 801, all(many, ids))
	if got := many.e.Stats().Runs; got != 64*1101 {
		t.Errorf("%d runs, want %d", got, 64*1101)
	}
}
