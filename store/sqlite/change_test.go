package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
)

// afterCut copies what a power cut would leave of a database if it came now, right
// after a commit that was synced: all that is committed later is lost. Another
// process copies, because closing a file drops SQLite's locks on it.
func afterCut(t testing.TB, s *Store) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	for _, suffix := range []string{"", "-wal"} {
		if out, err := exec.CommandContext(t.Context(), "cp", s.path+suffix, path+suffix).CombinedOutput(); err != nil {
			t.Fatalf("copying: %v, %s", err, out)
		}
	}
	return path
}

// foldNext commits the next view of a document, and returns the last change.
func foldNext(t testing.TB, s *Store, id string) store.Cursor {
	t.Helper()
	d := load(t, s, id)
	out, err := s.Commit(t.Context(), []store.Commit{{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Applied + 1, View: fmt.Append(nil, d.Applied+1)}})
	if err != nil || out[0] == store.Stale {
		t.Fatalf("commit of %s: %v, %v", id, out, err)
	}
	return lastChange(t, s)
}

func lastChange(t testing.TB, s *Store) store.Cursor {
	t.Helper()
	c, err := s.LastChange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// changedAfter returns the ids of what changed after a cursor, and the last cursor.
func changedAfter(t testing.TB, s *Store, after store.Cursor) (ids string, last store.Cursor) {
	t.Helper()
	var all []string
	last = after
	for c, err := range s.Changes(t.Context(), "notes", after, store.WithViews) {
		if err != nil {
			t.Fatal(err)
		}
		if !last.Before(c.Cursor) {
			t.Fatalf("cursor %s comes after %s", c.Cursor, last)
		}
		all, last = append(all, c.Document.Key.ID), c.Cursor
	}
	return strings.Join(all, " "), last
}

// level returns how much the last commit was synced.
func level(t testing.TB, s *Store) int64 {
	t.Helper()
	v, err := s.writer.conn.pragma("synchronous")
	if err != nil {
		t.Fatal(err)
	}
	return integer(v)
}

// setCeiling leaves n numbers until a block has to be reserved.
func setCeiling(t testing.TB, s *Store, n int64) {
	t.Helper()
	if err := s.submit(t.Context(), newRequest(ceilingWork(n), true, 0)); err != nil {
		t.Fatal(err)
	}
}

type ceilingWork int64

func (w ceilingWork) do(t *transaction) error {
	row, err := t.run.one(getMeta, metaChange)
	if err != nil {
		return err
	}
	return t.run.exec(setMeta, metaCeiling, integer(row[0])+int64(w))
}

// TestNumbersOfChangesAreNotGivenAgainAfterAPowerCut: a follower has seen changes
// that a cut took. What is folded again gets numbers above all of them, so that the
// follower misses nothing, and no number means two changes.
func TestNumbersOfChangesAreNotGivenAgainAfterAPowerCut(t *testing.T) {
	s := fresh(t, nil)
	var seen []store.Cursor
	follower := store.Cursor{}
	for round := range 4 {
		mustAppend(t, s, append(one("a", "1", "2"), one("b", "1", "2")...)) // synced
		left := afterCut(t, s)
		for range 2 {
			for _, id := range []string{"a", "b"} {
				seen = append(seen, foldNext(t, s, id))
				if got := level(t, s); got != SyncNormal.level() {
					t.Fatalf("a commit of views alone is synced at %d", got)
				}
			}
		}
		ids, last := changedAfter(t, s, follower)
		if ids != "a b" {
			t.Fatalf("round %d: %q changed", round, ids)
		}
		follower = last
		s.Close()

		s = open(t, left, nil)
		if now := lastChange(t, s); now.Before(follower) {
			t.Errorf("after the cut the last change is %s, the follower has %s", now, follower)
		}
		if ids, _ := changedAfter(t, s, follower); ids != "" {
			t.Errorf("after the cut %q changed", ids)
		}
		if d := load(t, s, "a"); d.Applied != int64(2*round) || d.Head != int64(2*round+2) {
			t.Fatalf("after the cut the document is %+v", d)
		}
		for range 2 {
			for _, id := range []string{"b", "a"} {
				now := foldNext(t, s, id)
				for _, old := range seen {
					if !old.Before(now) {
						t.Fatalf("%s is new, and %s was given before the cut", now, old)
					}
				}
				seen = append(seen, now)
			}
		}
		if ids, follower = changedAfter(t, s, follower); ids != "b a" {
			t.Errorf("to the follower %q changed, want what was folded again", ids)
		}
	}
}

// A cut can come right before a block is reserved, and right after.
func TestNumbersOfChangesAfterACutWhereABlockEnds(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", make([]string, 50)...))
	for range 5 {
		setCeiling(t, s, 2)
		left := afterCut(t, s)
		foldNext(t, s, "a")
		last := foldNext(t, s, "a") // of the block, and lost with it
		seen := foldNext(t, s, "a")
		if level(t, s) != SyncFull.level() {
			t.Fatal("the third of two numbers was given without a sync")
		}
		later := afterCut(t, s)
		more := foldNext(t, s, "a")
		if level(t, s) != SyncNormal.level() {
			t.Error("the next commit is synced too")
		}
		s.Close()
		early := open(t, left, nil)
		if now := foldNext(t, early, "a"); !last.Before(now) {
			t.Errorf("after the early cut the next number is %s, %s was given", now, last)
		}
		s = open(t, later, nil)
		if now := foldNext(t, s, "a"); !more.Before(now) || !seen.Before(now) {
			t.Errorf("after the cut the next number is %s, %s was given", now, more)
		}
	}
}

// A group that comes to the ceiling is repeated with a sync, and everything in it
// is answered as if that were the first time.
func TestAGroupAtTheCeilingIsRepeatedWithASync(t *testing.T) {
	for _, o := range []*Options{nil, {Sync: SyncNormal}} {
		s := fresh(t, o)
		for _, id := range []string{"a", "b", "c"} {
			mustAppend(t, s, one(id, "1", "2", "3", "4"))
		}
		first := foldNext(t, s, "a")
		setCeiling(t, s, 1)
		before := logCommits(t, s)
		commit := func(id string, loaded, applied int64, want store.Outcome) func() {
			return func() {
				out, err := s.Commit(context.Background(), []store.Commit{{Key: key(id), Loaded: loaded, Applied: applied, View: []byte("v")}})
				if err != nil || out[0] != want {
					t.Errorf("commit of %s: %v, %v, want %s", id, out, err, want)
				}
			}
		}
		all := []func(){commit("b", 0, 4, store.Done), commit("a", 0, 1, store.Stale), commit("c", 0, 2, store.StillDirty), commit("a", 1, 3, store.StillDirty)}
		if o != nil { // there appends are not synced either
			all = append(all, func() { mustAppend(t, s, one("b", "5")) })
		}
		grouped(t, s, all...)
		if n := logCommits(t, s) - before; n != 1 {
			t.Errorf("%d transactions, want 1", n)
		}
		if got := level(t, s); got != SyncFull.level() {
			t.Errorf("it was synced at %d", got)
		}
		if ids, _ := changedAfter(t, s, first); ids != "b c a" {
			t.Errorf("%q changed", ids)
		}
		foldNext(t, s, "c")
		if got := level(t, s); got != SyncNormal.level() {
			t.Errorf("the next one was synced at %d", got)
		}
		if n, want := checkLog(t, s), 12+len(all)-4; n != want {
			t.Errorf("%d operations, want %d", n, want)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("Check: %v", err)
		}
	}
}

// A transaction that is synced anyway reserves early, so that one of views alone
// hardly ever has to be repeated.
func TestABlockIsReservedWithWhatIsSyncedAnyway(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1", "2", "3"))
	setCeiling(t, s, 5)
	// The append first, as it is who comes first that says whether there is a sync.
	grouped(t, s, func() { mustAppend(t, s, one("b", "1")) }, func() { foldNext(t, s, "a") })
	left := afterCut(t, s)
	s.Close()
	s = open(t, left, nil)
	if now := lastChange(t, s); now.Before(store.NewCursor(s.incarnation, changeBlock)) {
		t.Errorf("the last change is %s, a block was to be reserved", now)
	}
}

// When the connection broke, what was committed and not synced may be gone.
func TestNumbersOfChangesWhenTheConnectionIsOpenedAgain(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", make([]string, 20)...))
	seen := foldNext(t, s, "a")
	for range 3 {
		ceiling := int64(0)
		if err := s.read(t.Context(), func(c *conn) error {
			return c.query("SELECT value FROM refold_meta WHERE key = 'ceiling'", &ceiling)
		}); err != nil {
			t.Fatal(err)
		}
		set(t, s, "query_only = ON") // this connection cannot write any more, and is given up
		if _, err := s.Append(t.Context(), one("a", "x")); err == nil {
			t.Fatal("an append without a connection succeeded")
		}
		now := foldNext(t, s, "a")
		if !seen.Before(now) || !store.NewCursor(s.incarnation, ceiling).Before(now) {
			t.Errorf("the next number is %s, the ceiling was %d", now, ceiling)
		}
		if got := level(t, s); got != SyncFull.level() {
			t.Errorf("numbers above the ceiling were given at %d", got)
		}
		if again := foldNext(t, s, "a"); !again.Before(store.NewCursor(s.incarnation, ceiling+10)) {
			t.Errorf("after %s comes %s: numbers are left out once", now, again)
		} else if got := level(t, s); got != SyncNormal.level() {
			t.Errorf("the next one is synced at %d", got)
		} else {
			seen = again
		}
	}
}

func TestTwoProcessesHaveOneCounterOfChanges(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("child", make([]string, 30)...))
	mustAppend(t, s, one("mine", make([]string, 30)...))
	c := start(t, "commit", s.path)
	c.expect(t, "open")
	last := lastChange(t, s)
	for i := range 30 {
		if i == 10 {
			setCeiling(t, s, 3) // both come to it
		}
		fmt.Fprintln(c.in)
		line, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := store.ParseCursor(strings.TrimSpace(line))
		if err != nil || !last.Before(theirs) {
			t.Fatalf("change %d of the child is at %q, after %s: %v", i, line, last, err)
		}
		mine := foldNext(t, s, "mine")
		if !theirs.Before(mine) {
			t.Fatalf("change %d is at %s, after %s", i, mine, theirs)
		}
		if ids, _ := changedAfter(t, s, last); ids != "child mine" {
			t.Fatalf("after %s changed %q", last, ids)
		}
		last = mine
	}
	c.finish(t)
}

// Thousands of views are committed without a sync, as no block ends among them.
func TestViewsAloneStayWithoutASync(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", make([]string, 2000)...))
	if err := s.Register(t.Context(), "notes", 1); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		foldNext(t, s, "a")
		if got := s.writer.conn.level; got != SyncNormal.level() {
			t.Fatalf("synced at %d", got)
		}
	}
}

// lostWork loses its transaction, and comes to the ceiling.
type lostWork func()

func (w lostWork) do(t *transaction) error {
	t.changes = changeNumbers{last: 2, ceiling: 1, known: true, moved: true}
	w()
	return nil
}

// If every caller has left before a group can be repeated, that is no failure.
func TestAGroupAtTheCeilingThatNobodyWantsAnyMore(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	unlock := func() {}
	var r *request
	r = newRequest(lostWork(func() {
		if err := s.writer.conn.rollback(); err != nil {
			t.Error(err)
		}
		unlock = lock(t, s.path)
		cancel(errTooLate)
		eventually(t, "the caller to leave", r.left.Load)
	}), false, 0)
	if err := s.submit(ctx, r); !errors.Is(err, store.ErrBusy) || !errors.Is(err, errTooLate) {
		t.Errorf("got %v", err)
	}
	unlock()
	if err := s.writer.health.lastError(); err != nil {
		t.Errorf("it is held to be a failure: %v", err)
	}
	mustAppend(t, s, one("a", "2"))
}
