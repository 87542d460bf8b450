package sqlite

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// set runs a PRAGMA on the writing connection.
func set(t testing.TB, s *Store, pragma string) {
	t.Helper()
	err := s.alone(t.Context(), func(c *writerConn) error { return c.run("PRAGMA " + pragma) })
	if err != nil {
		t.Fatal(err)
	}
}

// Appends fail with the cause as long as it is there, and go on by themselves.
func TestAFullDiskIsOver(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	set(t, s, "max_page_count = 1")
	big := string(make([]byte, 100_000))
	refused := func(id string) {
		if _, err := s.Append(t.Context(), one(id, big)); !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrInDoubt) {
			t.Errorf("append: %v", err)
		}
	}
	for range 3 {
		refused("a")
	}
	// Together they fail one by one, and who needs no room is stored.
	grouped(t, s, func() { refused("a") }, func() { refused("b") }, func() { mustAppend(t, s, one("a", "2")) }, func() { refused("c") })
	set(t, s, "max_page_count = 1000000")
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check after the cause is gone: %v", err)
	}
	mustAppend(t, s, one("a", big))
	if n := checkLog(t, s); n != 3 {
		t.Errorf("%d operations, want 3", n)
	}
}

// Check finds out by itself whether the cause is gone.
func TestCheckTellsWhyNothingCanBeWritten(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	s.writer.health.wrote(errTooLate)
	set(t, s, "query_only = ON") // this connection cannot write, the next one can
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "readonly") || errors.Is(err, store.ErrInDoubt) {
		t.Errorf("Check: %v", err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("Check after the cause is gone: %v", err)
	}
	set(t, s, "query_only = ON")
	if _, err := s.Append(t.Context(), one("a", "2")); err == nil || !strings.Contains(err.Error(), "readonly") || errors.Is(err, store.ErrInDoubt) {
		t.Errorf("append: %v", err)
	}
	mustAppend(t, s, one("a", "2"))
	if n := checkLog(t, s); n != 2 {
		t.Errorf("%d operations, want 2", n)
	}
}

func TestCheckTellsOfALockThatIsHeldForLong(t *testing.T) {
	s := fresh(t, nil)
	unlock := lock(t, s.path)
	defer unlock()
	var all sync.WaitGroup
	all.Go(func() { mustAppend(t, s, one("a", "1")) })
	h := &s.writer.health
	eventually(t, "the writer to wait", func() bool { return h.lockedSince.Load() != 0 })
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("at once: %v", err)
	}
	h.lockedSince.Store(time.Now().Add(-longLock - time.Minute).UnixNano())
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "another process has held the write lock for 1m10s") {
		t.Errorf("after a while: %v", err)
	}
	unlock()
	all.Wait()
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestALogThatOnlyGrows(t *testing.T) {
	for _, test := range []struct {
		name  string
		sizes []int64
		want  bool
	}{
		{"short", []int64{0, 1, 2, 3, 4, 5}, false},
		{"long and growing", []int64{longLog + 1, longLog + 2, longLog + 3}, true},
		{"long and still", []int64{longLog + 1, longLog + 1, longLog + 1, longLog + 1}, false},
		{"growing in steps", []int64{longLog + 1, longLog + 1, longLog + 2, longLog + 2, longLog + 3, longLog + 3}, true},
		{"cut", []int64{longLog + 1, longLog + 2, longLog + 3, logLimit}, false},
		{"growing again", []int64{longLog + 1, longLog + 2, logLimit, longLog + 1, longLog + 2}, false},
	} {
		var h health
		got := false
		for _, size := range test.sizes {
			got = h.measured(size)
		}
		if got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

func TestCheckIsCheap(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	before := logCommits(t, s)
	for range 100 {
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := logCommits(t, s) - before; n != 0 {
		t.Errorf("100 checks wrote %d transactions", n)
	}
	s.Close()
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
