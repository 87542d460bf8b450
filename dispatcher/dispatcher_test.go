package dispatcher

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/bus"
	"github.com/refold-go/refold/store"
)

// source stands for the store.
type source struct {
	mu    sync.Mutex
	rows  []store.Runnable
	err   error // ends the next reading, after the rows
	reads int
}

func (s *source) Runnable(context.Context) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		s.mu.Lock()
		s.reads++
		rows, err := slices.Clone(s.rows), s.err
		s.err = nil
		s.mu.Unlock()
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Runnable{}, err)
		}
	}
}

func (s *source) add(keys ...store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		s.rows = append(s.rows, store.Runnable{Key: k})
	}
}

func (s *source) remove(k store.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = slices.DeleteFunc(s.rows, func(row store.Runnable) bool { return row.Key == k })
}

// feed is a running dispatcher in a bubble of fake time.
type feed struct {
	*fixture
	source source
	bus    bus.Bus[store.Key]
	buffer int
	cancel context.CancelFunc
	ended  chan error
}

// testFeed runs a dispatcher over a table with a limit. before sets the source up.
func testFeed(t *testing.T, limit int, before, test func(t *testing.T, f *feed)) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{fixture: newFixture(t, limit), buffer: 100, ended: make(chan error, 1)}
		before(t, f)
		d := &Dispatcher{Table: f.Table, Runnable: f.source.Runnable, Bus: &f.bus, Buffer: f.buffer}
		ctx, cancel := context.WithCancel(t.Context())
		f.cancel = cancel
		go func() { f.ended <- d.Run(ctx) }()
		synctest.Wait()
		test(t, f)
		cancel()
		if err := <-f.ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// expect says which ids must be queued once everybody has had their say.
func (f *feed) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := queued(f.Table); !slices.Equal(got, want) {
		t.Errorf("queued %v, want %v", got, want)
	}
}

// run takes the document, which is clean afterwards, and gives it back.
func (f *feed) run(k store.Key) {
	f.t.Helper()
	f.take(k)
	f.source.remove(k)
	f.done(k, Result{})
}

func nothing(*testing.T, *feed) {}

func TestStartReadsTheStore(t *testing.T) {
	testFeed(t, 10, func(t *testing.T, f *feed) {
		f.source.add(b, a, c)
	}, func(t *testing.T, f *feed) {
		f.expect(t, "b", "a", "c")
	})
}

func TestAnnouncedDocumentIsQueued(t *testing.T) {
	testFeed(t, 10, nothing, func(t *testing.T, f *feed) {
		f.bus.Publish(a, b)
		f.bus.Publish(a)
		f.expect(t, "a", "b")
		if f.source.reads != 1 {
			t.Errorf("%d readings, want that of the start alone", f.source.reads)
		}
	})
}

func TestLagReadsTheStoreAgain(t *testing.T) {
	testFeed(t, 10, func(t *testing.T, f *feed) {
		f.buffer = 2
	}, func(t *testing.T, f *feed) {
		f.source.add(a, b, c)
		f.bus.Publish(a, b, c)
		f.expect(t, "a", "b", "c")
		if f.source.reads != 2 {
			t.Errorf("%d readings, want 2", f.source.reads)
		}
		d := key("d")
		f.source.add(d)
		f.bus.Publish(d) // it is subscribed again
		f.expect(t, "a", "b", "c", "d")
	})
}

func TestFullTableIsFilledAgainWhenHalfOfItIsFree(t *testing.T) {
	testFeed(t, 4, func(t *testing.T, f *feed) {
		for _, id := range []string{"1", "2", "3", "4", "5", "6", "7"} {
			f.source.add(key(id))
		}
	}, func(t *testing.T, f *feed) {
		f.expect(t, "1", "2", "3", "4")
		f.run(key("1"))
		f.expect(t, "2", "3", "4")
		f.run(key("2"))
		f.expect(t, "3", "4", "5", "6")
		f.run(key("3"))
		f.run(key("4"))
		f.expect(t, "5", "6", "7")
		f.run(key("5"))
		f.run(key("6"))
		f.run(key("7"))
		f.expect(t)
		if f.source.reads != 3 {
			t.Errorf("%d readings, want 3", f.source.reads)
		}
	})
}

// A document that runs while the store is read may have become dirty after its
// run committed.
func TestReadingFlagsARunningDocument(t *testing.T) {
	testFeed(t, 10, nothing, func(t *testing.T, f *feed) {
		f.bus.Publish(a)
		synctest.Wait()
		f.take(a)
		f.source.add(a)
		f.Reread()
		synctest.Wait()
		f.done(a, Result{})
		f.expect(t, "a")
	})
}

func TestFailedReadingIsTriedAgain(t *testing.T) {
	testFeed(t, 10, func(t *testing.T, f *feed) {
		f.source.add(a)
		f.source.err = errors.New("disk on fire")
	}, func(t *testing.T, f *feed) {
		f.expect(t, "a") // what was read before the error
		f.source.add(b)
		time.Sleep(retryAfter - 1)
		f.expect(t, "a")
		time.Sleep(time.Nanosecond)
		f.expect(t, "a", "b")
		if f.source.reads != 2 {
			t.Errorf("%d readings, want 2", f.source.reads)
		}
	})
}

func TestDelayedRowRunsWhenItIsDue(t *testing.T) {
	testFeed(t, 10, func(t *testing.T, f *feed) {
		f.source.rows = []store.Runnable{{Key: a, Wait: 5 * time.Second}, {Key: b, Wait: 2 * time.Second}, {Key: c}}
	}, func(t *testing.T, f *feed) {
		f.expect(t, "c")
		f.bus.Publish(a)
		f.expect(t, "c")
		time.Sleep(2 * time.Second)
		f.expect(t, "c", "b")
		time.Sleep(3*time.Second - 1)
		f.expect(t, "c", "b")
		time.Sleep(time.Nanosecond)
		f.expect(t, "c", "b", "a")
	})
}

func TestFailedRunIsQueuedAgainWhenItIsDue(t *testing.T) {
	testFeed(t, 10, nothing, func(t *testing.T, f *feed) {
		f.bus.Publish(a)
		synctest.Wait()
		f.take(a)
		f.done(a, Result{Verdict: Delay, Until: time.Now().Add(7 * time.Second)})
		time.Sleep(7*time.Second - 1)
		f.expect(t)
		time.Sleep(time.Nanosecond)
		f.expect(t, "a")
	})
}

func TestTooManyDelayedDocumentsAreReadWhenTheyAreDue(t *testing.T) {
	testFeed(t, 1, nothing, func(t *testing.T, f *feed) {
		f.Delay(a, time.Now().Add(9*time.Second))
		f.Delay(b, time.Now().Add(3*time.Second)) // does not fit
		f.source.add(b)
		time.Sleep(3*time.Second - 1)
		f.expect(t)
		time.Sleep(time.Nanosecond)
		f.expect(t, "b")
	})
}

func TestSweepFindsWhatNobodyAnnounced(t *testing.T) {
	testFeed(t, 10, nothing, func(t *testing.T, f *feed) {
		f.source.add(a)
		time.Sleep(SweepEvery - 1)
		f.expect(t)
		time.Sleep(time.Nanosecond)
		f.expect(t, "a")
		f.source.add(b)
		time.Sleep(SweepEvery)
		f.expect(t, "a", "b")
	})
}

func TestSweepGivesMemoryBack(t *testing.T) {
	const documents = 50_000
	testFeed(t, documents, nothing, func(t *testing.T, f *feed) {
		f.SignalAll(keys(documents))
		drain(t, f.Table, 16)
		size := func() (cells, chunks int) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.index.cells), len(f.slab.chunks)
		}
		if cells, chunks := size(); cells <= keepCells || chunks <= keepChunks {
			t.Fatal("there is nothing to give back")
		}
		time.Sleep(2 * SweepEvery)
		synctest.Wait()
		if cells, chunks := size(); cells > keepCells || chunks > keepChunks {
			t.Errorf("%d cells and %d chunks are kept", cells, chunks)
		}
	})
}

func TestClosedBusLeavesTheSweep(t *testing.T) {
	testFeed(t, 10, nothing, func(t *testing.T, f *feed) {
		f.bus.Close()
		f.source.add(a)
		time.Sleep(SweepEvery)
		f.expect(t, "a")
	})
}

func TestRunEndsInTheMiddleOfAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := &Dispatcher{
			Table: newTable(t, 10, 1),
			Bus:   bus.New[store.Key](),
			Runnable: func(ctx context.Context) iter.Seq2[store.Runnable, error] {
				return func(yield func(store.Runnable, error) bool) {
					<-ctx.Done()
					yield(store.Runnable{}, ctx.Err())
				}
			},
		}
		ended := make(chan error)
		go func() { ended <- d.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
