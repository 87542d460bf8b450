package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// busyLimit is within what time a caller whose context ended must be told, on a slow
// machine. The lock is held for longer.
const busyLimit = 20 * time.Second

// mattn/go-sqlite3#863: a context that ends while another process holds the
// write lock is not noticed before the busy timeout.
func TestAContextEndsWhileAnotherProcessHoldsTheLock(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	c := start(t, "lock", s.path)
	c.expect(t, "locked")
	for _, write := range []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"append", func(ctx context.Context) error { _, err := s.Append(ctx, one("a", "2")); return err }},
		{"commit", func(ctx context.Context) error {
			_, err := s.Commit(ctx, []store.Commit{{Key: key("a"), Applied: 1}})
			return err
		}},
		{"resume", func(ctx context.Context) error { _, err := s.Resume(ctx, []store.Key{key("a")}); return err }},
		{"register", func(ctx context.Context) error { return s.Register(ctx, "notes", 1) }},
		{"pause", func(ctx context.Context) error { return s.Pause(ctx, "notes", true) }},
		{"discard", func(ctx context.Context) error {
			return s.Discard(ctx, store.Discard{Key: key("a"), Seq: 1, By: "b", Why: "w"})
		}},
		{"forget", func(ctx context.Context) error { return s.Forget(ctx, key("a")) }},
		{"drop", func(ctx context.Context) error { return s.Drop(ctx, "notes") }},
		{"claim", func(ctx context.Context) error { return second(s.Claim(ctx)) }},
		{"update", func(ctx context.Context) error { return s.Update(ctx, nothingToDo) }},
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errTooLate)
		begun := time.Now()
		err := write.do(ctx)
		took := time.Since(begun)
		cancel()
		if !errors.Is(err, store.ErrBusy) || !errors.Is(err, errTooLate) {
			t.Errorf("%s: %v", write.name, err)
		}
		if took > busyLimit {
			t.Errorf("%s returned after %v, want less than %v", write.name, took, busyLimit)
		}
	}
	if d := load(t, s, "a"); d.Head != 1 || d.Applied != 0 {
		t.Errorf("something was stored: %+v", d)
	}
	c.finish(t)
	mustAppend(t, s, one("a", "2")) // those who left hold up nobody
	if n := checkLog(t, s); n != 2 {
		t.Errorf("%d operations, want 2", n)
	}
}

func TestAContextEndsWhileAnUpdateRuns(t *testing.T) {
	s := fresh(t, nil)
	inside, leave := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := s.Update(t.Context(), func(context.Context, *sql.Tx) error {
			close(inside)
			<-leave
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := s.Append(ctx, one("a", "1"))
	if took := time.Since(begun); took > busyLimit || !errors.Is(err, store.ErrBusy) {
		t.Errorf("returned %v after %v", err, took)
	}
	close(leave)
	all.Wait()
	if n := checkLog(t, s); n != 0 {
		t.Errorf("%d operations, want none", n)
	}
}

// mattn/go-sqlite3#274: "database is locked" under concurrent writers.
func TestTwentyWritersAreNeverBusy(t *testing.T) {
	s := fresh(t, nil)
	other := open(t, s.path, nil)
	var all sync.WaitGroup
	for g := range 20 {
		to := s
		if g%2 == 1 {
			to = other
		}
		all.Go(func() {
			for i := range 50 {
				if _, err := to.Append(t.Context(), one(fmt.Sprint(i%7), fmt.Sprint(g))); err != nil {
					t.Errorf("writer %d: %v", g, err)
				}
				docs, err := to.Load(t.Context(), []store.Key{key(fmt.Sprint(i % 7))}, store.WithViews)
				if err != nil {
					t.Errorf("reader %d: %v", g, err)
					continue
				}
				d := docs[0]
				_, err = to.Commit(t.Context(), []store.Commit{{Key: d.Key, Loaded: d.Applied, Applied: d.Head, View: []byte("v")}})
				if err != nil {
					t.Errorf("committer %d: %v", g, err)
				}
			}
		})
	}
	all.Wait()
	if n := checkLog(t, s); n != 1000 {
		t.Errorf("%d operations, want 1000", n)
	}
}

func TestTwoProcessesAppendAtOnce(t *testing.T) {
	s := fresh(t, nil)
	c := start(t, "append", s.path)
	c.expect(t, "open")
	for i := range 500 {
		mustAppend(t, s, one(fmt.Sprint(i%10), "parent"))
	}
	c.finish(t)
	if n := checkLog(t, s); n != 1000 {
		t.Errorf("%d operations, want 1000", n)
	}
}

func TestTheClaimIsOfOneHandleAndEndsWithItsProcess(t *testing.T) {
	s := fresh(t, nil)
	c := start(t, "claim", s.path)
	c.expect(t, "claimed")
	if _, err := s.Claim(t.Context()); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("claimed by another process: %v", err)
	}
	c.Process.Kill()
	c.Wait()
	claim, err := s.Claim(t.Context())
	if err != nil {
		t.Fatalf("after the other process was killed: %v", err)
	}
	if !claim.Unclean || claim.End != 2 {
		t.Errorf("after the other process was killed, the claim is %+v, want an unclean one at 2", claim)
	}
	other := open(t, s.path, nil)
	if _, err := other.Claim(t.Context()); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("claimed by another handle of this process: %v", err)
	}
	if _, err := s.Claim(t.Context()); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("claimed by this handle: %v", err)
	}
	for range 2 {
		if err := claim.Release(); err != nil {
			t.Error(err)
		}
	}
	// Closing gives it up too, but that is no release.
	for _, unclean := range []bool{false, true} {
		if c, err := other.Claim(t.Context()); err != nil || c.Unclean != unclean {
			t.Errorf("claimed by another handle: %+v, %v", c, err)
		}
		other.Close()
		other = open(t, s.path, nil)
	}
	if c, err := s.Claim(t.Context()); err != nil || !c.Unclean {
		t.Errorf("after the other handle was closed: %+v, %v", c, err)
	}
}

// A process that dies leaves its log behind; the next one to open has it all.
func TestAProcessThatDiesLosesNothing(t *testing.T) {
	s := fresh(t, nil)
	path := s.path
	s.Close()
	c := start(t, "hold", path)
	c.expect(t, "appended")
	c.Process.Kill()
	c.Wait()
	s = open(t, path, nil)
	if d := load(t, s, "held"); d.Head != 2 || !d.Dirty() {
		t.Errorf("%+v", d)
	}
}

func TestNamesOfStatementsAreInErrors(t *testing.T) {
	s := fresh(t, nil)
	if err := s.writer.conn.run("DROP TABLE refold_views"); err == nil {
		t.Fatal("the writing connection committed what is not of the store")
	}
	c, err := openConn(dsn(s.path, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.run("DROP TABLE refold_views"); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, one("a", "1"))
	_, err = s.Commit(t.Context(), []store.Commit{{Key: key("a"), Applied: 1}})
	if err == nil || !strings.Contains(err.Error(), "writing a view") || errors.Is(err, store.ErrInDoubt) {
		t.Errorf("got %v", err)
	}
	if n := checkLog(t, s); n != 1 {
		t.Errorf("%d operations, want 1", n)
	}
}
