package dispatcher

import (
	"fmt"
	"slices"
	"testing"
)

// In a queue that trusts its callers, giving back what one does not hold queues
// the document twice, and then two workers have it.
func TestK8s79934_TicketIsGivenBackOnce(t *testing.T) {
	for _, row := range []struct {
		name  string
		state State // of the document when its old ticket comes again
	}{
		{"idle", Idle}, {"queued", Queued}, {"running", Running}, {"requeue", Requeue}, {"delayed", Delayed}, {"cooling", Cooling},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := newFixture(t, 10)
			f.reach(a, Running)
			old := f.held[a]
			f.done(a, Result{})
			f.reach(a, row.state)
			f.Signal(b)
			before, queue := f.Counts(), queued(f.Table)
			for v := Done; v <= Delay; v++ {
				if n := f.Done([]Ticket{old, old}, []Result{{Verdict: v}, {Verdict: v}}, nil); n != 0 {
					t.Errorf("accepted %d", n)
				}
			}
			if got := f.State(a); got != row.state {
				t.Errorf("a is %s, want %s", got, row.state)
			}
			if got := f.Counts(); got != before {
				t.Errorf("counts %+v, want %+v", got, before)
			}
			if got := queued(f.Table); !slices.Equal(got, queue) {
				t.Errorf("queue %v, want %v", got, queue)
			}
		})
	}
}

func TestK8s79934_OneTicketTwiceInACall(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Requeue)
	if n := f.Done([]Ticket{f.held[a], f.held[a]}, make([]Result, 2), nil); n != 1 {
		t.Errorf("accepted %d, want 1", n)
	}
	if got := queued(f.Table); !slices.Equal(got, []string{"a"}) {
		t.Errorf("queue %v", got)
	}
}

func TestK8s79934_TicketOfAnotherDocumentInItsSlot(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Running)
	f.done(a, Result{})
	f.reach(b, Running)
	if f.held[a].slot != f.held[b].slot {
		t.Fatal("the slot was not used again, so that this shows nothing")
	}
	if n := f.Done([]Ticket{f.held[a]}, make([]Result, 1), nil); n != 0 || f.State(b) != Running {
		t.Errorf("accepted %d, b is %s", n, f.State(b))
	}
}

func TestK8s79934_TicketOlderThanTheSlab(t *testing.T) {
	const documents = chunkSize * (keepChunks + 1)
	table := newTable(t, documents, 1)
	for i := range documents {
		table.Signal(key(fmt.Sprint(i)))
	}
	tickets := make([]Ticket, documents)
	if n, err := table.Take(t.Context(), tickets); n != documents || err != nil {
		t.Fatalf("took %d, %v", n, err)
	}
	if n := table.Done(tickets, make([]Result, documents), nil); n != documents {
		t.Fatalf("accepted %d", n)
	}
	table.Trim()
	table.Trim()
	if got := len(table.slab.chunks); got != 0 {
		t.Fatalf("%d chunks are kept of an empty table", got)
	}
	if n := table.Done(tickets, make([]Result, documents), nil); n != 0 {
		t.Errorf("accepted %d of an empty slab", n)
	}
	table.Signal(a)
	var buf [1]Ticket
	if _, err := table.Take(t.Context(), buf[:]); err != nil {
		t.Fatal(err)
	}
	if n := table.Done(tickets, make([]Result, documents), nil); n != 0 || table.State(a) != Running {
		t.Errorf("accepted %d; a is %s, want running", n, table.State(a))
	}
}

func TestZeroTicketIsRefused(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Running)
	if n := f.Done([]Ticket{{}}, make([]Result, 1), nil); n != 0 {
		t.Errorf("accepted %d", n)
	}
}
