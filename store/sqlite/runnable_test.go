package sqlite

import (
	"fmt"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// tamper changes what is in the file behind the store's back.
func tamper(t *testing.T, s *Store, sql string) {
	t.Helper()
	database(t, s.path, sql)
}

// Pages go on within documents that share a since.
func TestRunnableWithASharedSince(t *testing.T) {
	s := fresh(t, nil)
	const n = 2*pageRows + 10
	for i := range n {
		mustAppend(t, s, one(fmt.Sprintf("%04d", i), "1"))
	}
	tamper(t, s, `UPDATE refold_progress SET since_position = 7 WHERE since_position > 7`)
	seen := make(map[string]bool)
	last := store.Position(0)
	for r, err := range s.Runnable(t.Context(), []string{"notes"}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[r.Key.ID] || r.Since.Position < last {
			t.Errorf("%s is returned again, or is since %d after one since %d", r.Key, r.Since.Position, last)
		}
		seen[r.Key.ID], last = true, r.Since.Position
	}
	if len(seen) != n || last != 7 {
		t.Errorf("%d documents, the last one since %d, are runnable, want %d", len(seen), last, n)
	}
}

// A clock that was set back does not hold back a document for as long.
func TestWaitsAfterTheClockWasSetBack(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	failure := &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: time.Hour}
	if _, err := s.Commit(t.Context(), []store.Commit{{Key: key("a"), Failure: failure}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ back, least, most time.Duration }{
		{0, 59 * time.Minute, time.Hour},
		{22 * time.Hour, 22*time.Hour + 59*time.Minute, 23 * time.Hour},
		{time.Minute + 23*time.Hour, 24 * time.Hour, 24 * time.Hour},
		{2 * 24 * time.Hour, 0, 0},
		{10000 * time.Hour, 0, 0},
	} {
		tamper(t, s, fmt.Sprintf(`UPDATE refold_progress SET not_before = %d`, time.Now().Add(time.Hour+c.back).UnixNano()))
		counts, err := s.Count(t.Context(), "notes")
		if err != nil {
			t.Fatal(err)
		}
		if want := min(c.most, 1); counts.Waiting != int64(want) {
			t.Errorf("set back by %s: %d documents wait, want %d", c.back, counts.Waiting, want)
		}
		for what, wait := range map[string]time.Duration{"runnable": counts.Oldest.Wait, "loaded": load(t, s, "a").Failure.Delay} {
			if wait < c.least || wait > c.most {
				t.Errorf("set back by %s: %s with a wait of %s, want %s to %s", c.back, what, wait, c.least, c.most)
			}
		}
	}
}
