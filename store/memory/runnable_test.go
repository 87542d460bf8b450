package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// many makes documents of two collections in a store, which lack one operation each.
func many(t *testing.T, n int) *Store {
	t.Helper()
	s := New(nil)
	t.Cleanup(func() { s.Close() })
	for i := range n {
		for _, name := range []string{"notes", "tasks"} {
			a := store.Append{Key: store.Key{Collection: name, ID: fmt.Sprintf("%04d", i)}, Entries: make([]store.Entry, 1)}
			if _, err := s.Append(t.Context(), []store.Append{a}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// Pages go on within documents that share a since, in one collection and in several.
func TestRunnableWithASharedSince(t *testing.T) {
	const n = 2*pageSize + 10
	s := many(t, n)
	for _, c := range s.collections {
		for _, d := range c.documents {
			c.leaveLocked(d)
			d.operations[0].Position = min(d.operations[0].Position, 7)
			c.enterLocked(d)
		}
	}
	seen := make(map[store.Key]bool)
	last := store.Position(0)
	for r, err := range s.Runnable(t.Context(), []string{"notes", "tasks"}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.Key] || r.Since.Position < last {
			t.Errorf("%s is returned again, or is since %d after one since %d", r.Key, r.Since.Position, last)
		}
		seen[r.Key], last = true, r.Since.Position
	}
	if len(seen) != 2*n || last != 7 {
		t.Errorf("%d documents, the last one since %d, are runnable, want %d", len(seen), last, 2*n)
	}
}

// A clock that was set back does not hold back a document for as long.
func TestWaitsAfterTheClockWasSetBack(t *testing.T) {
	s := many(t, 1)
	k := store.Key{Collection: "notes", ID: "0000"}
	failure := &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: time.Hour}
	if _, err := s.Commit(t.Context(), []store.Commit{{Key: k, Failure: failure}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ back, least, most time.Duration }{
		{0, 59 * time.Minute, time.Hour},
		{22 * time.Hour, 22*time.Hour + 59*time.Minute, 23 * time.Hour},
		{2 * 24 * time.Hour, 0, 0},
		{10000 * time.Hour, 0, 0},
	} {
		s.collections["notes"].documents[k.ID].notBefore = time.Now().Add(time.Hour + c.back).Round(0)
		counts, err := s.Count(t.Context(), "notes")
		if err != nil {
			t.Fatal(err)
		}
		documents, err := s.Load(t.Context(), []store.Key{k}, store.WithoutViews)
		if err != nil {
			t.Fatal(err)
		}
		for what, wait := range map[string]time.Duration{"runnable": counts.Oldest.Wait, "loaded": documents[0].Failure.Delay} {
			if wait < c.least || wait > c.most {
				t.Errorf("set back by %s: %s with a wait of %s, want %s to %s", c.back, what, wait, c.least, c.most)
			}
		}
	}
}
