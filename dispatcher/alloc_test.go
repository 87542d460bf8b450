package dispatcher

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/refold-go/refold/store"
)

func keys(n int) []store.Key {
	keys := make([]store.Key, n)
	for i := range keys {
		keys[i] = store.Key{Collection: "notes", ID: fmt.Sprintf("document-%015d", i)}
	}
	return keys
}

func TestNoAllocations(t *testing.T) {
	table := newTable(t, 0, 1)
	keys := keys(1000)
	buf, results := make([]Ticket, 16), make([]Result, 16)
	cycle := func() {
		table.SignalAll(keys)
		for table.Counts().Queued > 0 {
			n, err := table.Take(t.Context(), buf)
			if err != nil {
				t.Fatal(err)
			}
			table.Done(buf[:n], results, nil)
		}
	}
	cycle()
	if got := testing.AllocsPerRun(20, cycle); got != 0 {
		t.Errorf("%v allocations for 1,000 signals, takes and dones", got)
	}
	table.Signal(a)
	if got := testing.AllocsPerRun(1000, func() { table.Signal(a) }); got != 0 {
		t.Errorf("%v allocations for a signal of a queued document", got)
	}
	if _, err := table.Take(t.Context(), buf[:1]); err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(1000, func() { table.Signal(a) }); got != 0 {
		t.Errorf("%v allocations for a signal of a running document", got)
	}
}

// What a backlog costs, apart from the bytes of the ids, which the application
// has anyway.
func TestBacklogMemory(t *testing.T) {
	const documents, most = 1_000_000, 65
	bytes := backlogBytes(documents)
	t.Logf("%.1f bytes a document", bytes)
	if bytes > most {
		t.Errorf("%.1f bytes a document, want at most %d", bytes, most)
	}
}

func TestDrainedTableGivesItsMemoryBack(t *testing.T) {
	const documents, most = 200_000, 512 << 10
	keys := keys(documents)
	before := heapBytes()
	table := newTable(t, documents, 1)
	table.SignalAll(keys)
	drain(t, table, 16)
	table.Trim() // it was needed since the last one
	if kept := heapBytes() - before; kept < documents*20 {
		t.Errorf("%d bytes are kept for the next burst", kept)
	}
	table.Trim()
	if left := int64(heapBytes()) - int64(before); left > most {
		t.Errorf("%d bytes are left of a drained table", left)
	}
	runtime.KeepAlive(keys)
}

func backlogBytes(documents int) float64 {
	keys := keys(documents)
	before := heapBytes()
	table := NewTable(documents, 1)
	table.SignalAll(keys)
	after := heapBytes()
	runtime.KeepAlive(table)
	runtime.KeepAlive(keys)
	return float64(int64(after)-int64(before)) / float64(documents)
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func drain(t testing.TB, table *Table, batch int) {
	buf, results := make([]Ticket, batch), make([]Result, batch)
	for table.Counts().Queued > 0 {
		n, err := table.Take(t.Context(), buf)
		if err != nil {
			t.Fatal(err)
		}
		if table.Done(buf[:n], results, nil) != n {
			t.Fatal("a ticket was refused")
		}
	}
}
