package materializer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// Everything at once: several collections, appenders, readers that wait, folds
// that fail now and then, a small queue that overflows. At the end each view is
// the fold of its operations, each once and in order, and nothing is dirty.
func TestStress(t *testing.T) {
	for _, backend := range []struct {
		name string
		open func(t *testing.T) store.Backend
		n    int
	}{
		{"memory", func(*testing.T) store.Backend { return memory.New(nil) }, 400},
		{"sqlite", func(t *testing.T) store.Backend { return openSQLite(t) }, 100},
	} {
		t.Run(backend.name, func(t *testing.T) {
			stress(t, backend.open(t), backend.n)
		})
	}
}

// stress runs three collections in each of which n appends go to few documents.
func stress(t *testing.T, st store.Backend, n int) {
	const documents, appenders = 12, 3
	var inFold sync.Map // the documents that are being folded
	chaos := func(s text, op operation) (text, error) {
		if _, twice := inFold.LoadOrStore(op.Document, true); twice {
			t.Errorf("%s is folded by two at once", op.Document)
		}
		defer inFold.Delete(op.Document)
		switch rand.IntN(60) {
		case 0:
			return s, errPlanted
		case 1:
			s.Words = append(s.Words[:0], "half")
			panic("planted panic")
		case 2:
			return s, materializer.RetryAfter(time.Millisecond, errPlanted)
		case 3:
			runtime.Gosched()
		}
		return plain(s, op)
	}
	retry := materializer.Retry{Attempts: 1000, First: time.Millisecond, Cap: 5 * time.Millisecond}
	r := newRig(t, st, materializer.Config{Workers: 4, Batch: 4, Queue: 6, Announcements: 8, Bytes: 4 * 300},
		textSpec{Name: "texts", Version: 1, Fold: chaos, Retry: retry})
	collections := []*materializer.Collection[text, word]{r.texts}
	for _, name := range []string{"others", "rest"} {
		collections = append(collections, register(t, r.m, textSpec{Name: name, Version: 1, Fold: chaos, Retry: retry}))
	}
	r.start()
	// A materializer that never runs reads beside it. Its Latest folds in the
	// reader, which chaos would take for a second worker.
	beside, err := materializer.New(st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}

	ctx := within(t, time.Minute)
	var g sync.WaitGroup
	var appends atomic.Int64
	for i, c := range collections {
		// Ids differ between the collections, so that inFold tells them apart.
		id := func() string { return fmt.Sprintf("%d-%02d", i, rand.IntN(documents)) }
		for range appenders {
			g.Go(func() {
				for range n {
					first, second := id(), id()
					changes := []materializer.Change{c.Change(first, words(numbered("w", 1+rand.IntN(4)))...)}
					if second != first && rand.IntN(4) == 0 {
						changes = append(changes, c.Change(second, word{"y"}))
					}
					appended, err := r.m.Append(ctx, changes...)
					if err != nil {
						t.Error(err)
						return
					}
					appends.Add(1)
					if rand.IntN(10) > 0 {
						continue
					}
					v, err := c.Get(ctx, first, materializer.AtLeast(appended.Token))
					if head := appended.Documents[0].Head; err != nil || v.Applied < head || int64(len(v.State.Seqs)) != v.Applied {
						t.Errorf("%s: view of %d operations at %d, %v, want at least %d", first, len(v.State.Seqs), v.Applied, err, head)
						return
					}
				}
			})
		}
	}
	stopReaders := make(chan struct{})
	var readers sync.WaitGroup
	for _, c := range collections {
		same := register(t, beside, textSpec{Name: c.Name(), Version: 1, Fold: plain})
		readers.Go(func() { readAll(ctx, t, same, stopReaders) })
	}
	g.Wait()
	if err := r.m.Wait(ctx, r.end()); err != nil {
		t.Error(err)
	}
	close(stopReaders)
	readers.Wait()
	for _, c := range collections {
		checkAll(t, c)
	}
	for row, err := range st.Runnable(ctx, []string{"texts", "others", "rest"}) {
		t.Errorf("%v is dirty, %v", row.Key, err)
	}
	if got := r.m.Stats(); got.Failed == 0 || got.Parked != 0 {
		t.Errorf("%d failed and %d parked, want some and none", got.Failed, got.Parked)
	}
	if err := r.halt(); err != nil {
		t.Error(err)
	}
	t.Logf("%d appends, %+v", appends.Load(), r.m.Stats())
}

func register(t *testing.T, m *materializer.Materializer, s textSpec) *materializer.Collection[text, word] {
	t.Helper()
	c, err := materializer.Register(m, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// readAll reads in all ways until told to stop.
func readAll(ctx context.Context, t *testing.T, c *materializer.Collection[text, word], stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		for v, err := range c.All(ctx) {
			if err != nil || int64(len(v.State.Seqs)) != v.Applied || v.Applied > v.Head {
				t.Errorf("%s: view of %d operations at %d of %d, %v", v.ID, len(v.State.Seqs), v.Applied, v.Head, err)
				return
			}
			latest, err := c.Latest(ctx, v.ID)
			if err != nil || latest.Applied < v.Head || int64(len(latest.State.Seqs)) != latest.Applied {
				t.Errorf("%s: latest of %d operations at %d, %v, want at least %d", v.ID, len(latest.State.Seqs), latest.Applied, err, v.Head)
				return
			}
		}
		// Without a rest the readers take all there is of a single CPU.
		time.Sleep(20 * time.Millisecond)
	}
}

// checkAll compares each view with the fold of its operations.
func checkAll(t *testing.T, c *materializer.Collection[text, word]) {
	t.Helper()
	for v, err := range c.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var want text
		for op, err := range c.Operations(t.Context(), v.ID, 1) {
			if err != nil {
				t.Fatal(err)
			}
			want, _ = plain(want, op)
		}
		if v.State.String() != want.String() || fmt.Sprint(v.State.Seqs) != fmt.Sprint(want.Seqs) || v.Applied != v.Head {
			t.Errorf("%s/%s: %.100q from %d operations, %d of %d, want %.100q", c.Name(), v.ID, v.State, len(v.State.Seqs), v.Applied, v.Head, want)
		}
	}
}
