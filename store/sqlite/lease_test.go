package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

var aMinute = store.LeaseTerms{For: time.Minute, Most: 2 * time.Minute}

func leaseOne(t *testing.T, s *Store, holder string, over bool) store.Leased {
	t.Helper()
	got, err := s.Lease(t.Context(), holder, aMinute, []store.Key{key("a")}, over)
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}

// A clock that was set back by a day does not keep what the dead had for a day, and one
// that was set back by less keeps it for no longer than the longest lease.
func TestF4_ClockSetBack(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "store.db"), nil)
	mustAppend(t, s, one("a", "1"))
	first := leaseOne(t, s, "dead", false)
	shift := func(by time.Duration) {
		t.Helper()
		now := time.Now()
		database(t, s.path, fmt.Sprintf("UPDATE refold_progress SET leased_at = %d, leased_until = %d",
			now.Add(by).UnixNano(), now.Add(by+time.Minute).UnixNano()))
	}
	shift(24 * time.Hour)
	if got := leaseOne(t, s, "b", false); got.Why != store.LeftBehind || got.Lease.Age != 0 || got.Lease.Left != 0 {
		t.Errorf("a day ahead: %+v", got)
	}
	shift(5 * time.Minute)
	if got := leaseOne(t, s, "b", true); got.Why != store.Elsewhere || got.Lease.Left > store.MaxLease {
		t.Errorf("five minutes ahead: %+v", got)
	}
	shift(store.MaxLease)
	taken := leaseOne(t, s, "b", true)
	if taken.Epoch <= first.Epoch {
		t.Errorf("as far ahead as the longest lease: %+v after %+v", taken, first)
	}
	shift(-24 * time.Hour) // the clock was set on: it has run out, and is still its holder's
	commit := store.Commit{Key: key("a"), Epoch: taken.Epoch, Applied: 1, View: []byte("v")}
	stale := commit
	stale.Epoch = first.Epoch
	for _, c := range []struct {
		commit store.Commit
		want   store.Outcome
	}{{stale, store.Stale}, {commit, store.Done}} {
		if got, err := s.Commit(t.Context(), []store.Commit{c.commit}); err != nil || got[0] != c.want {
			t.Errorf("commit under epoch %d: %v, %v, want %s", c.commit.Epoch, got, err, c.want)
		}
	}
}

// Rows that were made before there were leases are leased like all others.
func TestF21_RowsOfVersion1AreLeased(t *testing.T) {
	path, _ := version1(t)
	s := open(t, path, nil)
	s.sweeping.Wait()
	dirty := store.Key{Collection: "notes", ID: "dirty"}
	before, err := s.Load(t.Context(), []store.Key{dirty}, store.WithoutViews)
	if err != nil || before[0].Lease != (store.Lease{}) {
		t.Fatalf("before: %+v, %v", before, err)
	}
	got, err := s.Lease(t.Context(), "h", aMinute, []store.Key{dirty}, false)
	if err != nil || got[0].Epoch <= before[0].Epoch {
		t.Fatalf("leased: %+v, %v, and the epoch was %d", got, err, before[0].Epoch)
	}
	outcomes, err := s.Commit(t.Context(), []store.Commit{{Key: dirty, Loaded: 1, Epoch: got[0].Epoch, Applied: 3, View: []byte("v")}})
	if err != nil || outcomes[0] != store.Done {
		t.Errorf("commit: %v, %v", outcomes, err)
	}
}

// Epochs of leases are numbers of changes: after the connection broke, or a power cut,
// those that may have been given are left out.
func TestEpochsAreLeftOutAfterACut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, nil)
	mustAppend(t, s, one("a", "1"))
	first := leaseOne(t, s, "h", false).Epoch
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// What the cut has taken: the lease, with the number that it was given.
	database(t, path, "UPDATE refold_progress SET owner = NULL, epoch = 0; UPDATE refold_meta SET value = 0 WHERE key = 'change'")
	s = open(t, path, nil)
	if second := leaseOne(t, s, "h", false).Epoch; second <= first {
		t.Errorf("epoch %d after %d", second, first)
	}
}

// Sharing is by the lock on the file: two handles share, a third one that wants it for
// itself is refused, and a holder tells the process.
func TestShareIsALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, other := open(t, path, nil), open(t, path, nil)
	first, err := s.Share(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := other.Share(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(first.Holder, fmt.Sprintf("@%d", os.Getpid())) || first.Holder == second.Holder {
		t.Errorf("holders are %q and %q", first.Holder, second.Holder)
	}
	if _, err := open(t, path, nil).Claim(t.Context()); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("claiming: %v", err)
	}
	if err := s.Close(); err != nil { // with the claim
		t.Fatal(err)
	}
	if _, err := other.Claim(t.Context()); !errors.Is(err, store.ErrClaimed) {
		t.Errorf("claiming: %v", err)
	}
	if err := second.Release(); err != nil {
		t.Fatal(err)
	}
	alone, err := other.Claim(t.Context())
	if err != nil || alone.Unclean {
		t.Errorf("claiming when all have left: %+v, %v", alone, err)
	}
}
