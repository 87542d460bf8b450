package inmemory

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// Contestants that say they keep runs of a document apart do.
func TestNoDocumentRunsTwiceAtOnce(t *testing.T) {
	const documents, producers, workers, each = 7, 4, 8, 3000
	for _, m := range []maker{refoldTable, clientGo, clientGoMetrics, priorityQueue} {
		t.Run(m.name, func(t *testing.T) {
			ids, all := newIDs(documents), make([]document, documents)
			q := m.new(need{ids: ids, workers: workers})
			var running [documents]atomic.Bool
			var working, producing sync.WaitGroup
			for range workers {
				working.Go(func() {
					q.work(func(id string) {
						n := number(id)
						if running[n].Swap(true) {
							t.Errorf("%s runs twice at once", id)
						}
						all[n].seen.Store(all[n].signalled.Load())
						running[n].Store(false)
					})
				})
			}
			for range producers {
				producing.Go(func() {
					for range each {
						n := rand.IntN(documents)
						all[n].signalled.Add(1)
						q.signal(n)
					}
				})
			}
			producing.Wait()
			if err := waitForAll(all); err != nil {
				t.Error(err)
			}
			q.stop()
			working.Wait()
		})
	}
}

func TestNumberIsOfItsID(t *testing.T) {
	for i, id := range newIDs(1200) {
		if len(id) != idLength || number(id) != i {
			t.Fatalf("%q is number %d, want %d", id, number(id), i)
		}
	}
}
