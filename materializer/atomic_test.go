package materializer_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// W2: the mark that a document is dirty and its operations are one transaction,
// and so are the end of the mark and the view. Seen from around each of them.
func TestW2_DirtyMarkAndViewAreOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec())
		want := func(point string, head, applied int64) {
			t.Helper()
			doc := r.load("a")
			if doc.Head != head || doc.Applied != applied || int64(len(r.state(doc).Seqs)) != applied {
				t.Errorf("%s: view of %d operations, applied %d, head %d, want %d, %[4]d, %d", point, len(r.state(doc).Seqs), doc.Applied, applied, head)
			}
			if dirty := slices.Contains(r.dirty(), "a"); dirty != (head > applied) {
				t.Errorf("%s: dirty is %v at %d of %d", point, dirty, applied, head)
			}
		}
		seen := make(map[string]int)
		var mu sync.Mutex
		st.onPoint(func(point string) error {
			mu.Lock()
			defer mu.Unlock()
			seen[point]++
			switch n := int64(seen[point]); point {
			case atAppend:
				want(point, 2*(n-1), 2*(n-1))
			case appended:
				want(point, 2*n, 2*(n-1))
			case loaded, operations, atCommit:
				want(point, 2*n, 2*(n-1))
			case committed:
				want(point, 2*n, 2*n)
			}
			return nil
		})
		r.start()
		settle()
		for range 3 {
			r.append("a", "x", "y")
			settle()
		}
		if seen[committed] != 3 || seen[appended] != 3 {
			t.Errorf("passed %v, want 3 appends and 3 commits", seen)
		}
	})
}

// The same seen by readers that look all the time.
func TestW2_NoReaderSeesAViewThatIsNotItsApplied(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
	ids := numbered("d", 8)
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = key(id)
	}
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			last := make([]store.Document, len(keys))
			for ctx.Err() == nil {
				docs, err := r.st.Load(ctx, keys, store.WithViews)
				if err != nil {
					return
				}
				for i, doc := range docs {
					if got := int64(len(r.state(doc).Seqs)); got != doc.Applied || doc.Applied > doc.Head {
						t.Errorf("%v: view of %d operations, applied %d, head %d", doc.Key, got, doc.Applied, doc.Head)
					}
					if doc.Applied < last[i].Applied || doc.Head < last[i].Head {
						t.Errorf("%v: %d of %d after %d of %d", doc.Key, doc.Applied, doc.Head, last[i].Applied, last[i].Head)
					}
					if doc.Dirty() != !doc.Since.Time.IsZero() {
						t.Errorf("%v: dirty is %v, since %v", doc.Key, doc.Dirty(), doc.Since)
					}
				}
				last = docs
			}
		})
	}
	for _, id := range ids {
		writers.Go(func() {
			for range 60 {
				r.append(id, "x")
			}
		})
	}
	writers.Wait()
	if err := r.m.Wait(ctx, r.end()); err != nil {
		t.Error(err)
	}
	cancel()
	readers.Wait()
	r.wantClean()
}
