package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

func TestAppendsThatWaitTogetherShareOneTransaction(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	before := logCommits(t, s)
	var fs []func()
	for i := range 20 {
		fs = append(fs, func() { mustAppend(t, s, one(fmt.Sprint(i%3), "x")) })
	}
	grouped(t, s, fs...)
	if n := logCommits(t, s) - before; n != 1 {
		t.Errorf("20 appends in %d transactions, want 1", n)
	}
	if n := checkLog(t, s); n != 21 {
		t.Errorf("%d operations, want 21", n)
	}
}

func TestCommitsShareTheTransactionOfAppends(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	before := logCommits(t, s)
	var outcomes []store.Outcome
	grouped(t, s,
		func() { mustAppend(t, s, one("a", "2")) },
		func() {
			var err error
			outcomes, err = s.Commit(t.Context(), []store.Commit{{Key: key("a"), Applied: 1, View: []byte("v1")}})
			if err != nil {
				t.Error(err)
			}
		},
		func() { mustAppend(t, s, one("a", "3")) },
	)
	if n := logCommits(t, s) - before; n != 1 {
		t.Errorf("%d transactions, want 1", n)
	}
	if len(outcomes) != 1 || outcomes[0] != store.StillDirty {
		t.Errorf("outcomes %v, want still dirty: the operation of the same group counts", outcomes)
	}
	if d := load(t, s, "a"); d.Head != 3 || d.Applied != 1 || d.Since.Position != 2 {
		t.Errorf("%+v", d)
	}
}

func TestOneThatIsRefusedIsReportedAloneAndTheRestCommit(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, []store.Append{{Key: key("a"), Entries: []store.Entry{{ID: "1", Body: []byte("1")}}}})
	before := logCommits(t, s)
	wrong := int64(7)
	errs := make([]error, 4)
	var outcomes []store.Outcome
	try := func(i int, a store.Append) func() {
		return func() { _, errs[i] = s.Append(context.Background(), []store.Append{a}) }
	}
	grouped(t, s,
		try(0, store.Append{Key: key("b"), Entries: []store.Entry{{Body: []byte("b")}}}),
		try(1, store.Append{Key: key("a"), Head: &wrong, Entries: []store.Entry{{Body: []byte("2")}}}),
		try(2, store.Append{Key: key("a"), Entries: []store.Entry{{Body: []byte("first")}, {ID: "1", Body: []byte("other")}}}),
		func() {
			outcomes, _ = s.Commit(t.Context(), []store.Commit{{Key: key("a"), Loaded: 1, Applied: 1, View: []byte("late")}})
		},
		try(3, store.Append{Key: key("a"), Entries: []store.Entry{{Body: []byte("2")}}}),
	)
	if errs[0] != nil || errs[3] != nil {
		t.Errorf("the good ones: %v, %v", errs[0], errs[3])
	}
	if !errors.Is(errs[1], store.ErrConflict) || !errors.Is(errs[2], store.ErrIDReused) {
		t.Errorf("the bad ones: %v, %v", errs[1], errs[2])
	}
	if len(outcomes) != 1 || outcomes[0] != store.Stale {
		t.Errorf("outcomes %v, want stale", outcomes)
	}
	if n := logCommits(t, s) - before; n != 1 {
		t.Errorf("%d transactions, want 1", n)
	}
	if n := checkLog(t, s); n != 3 {
		t.Errorf("%d operations, want 3", n)
	}
}

func TestALoneCallerNeverWaitsForCompany(t *testing.T) {
	s := fresh(t, nil)
	before := logCommits(t, s)
	for i := range 10 {
		mustAppend(t, s, one("a", fmt.Sprint(i)))
	}
	if n := logCommits(t, s) - before; n != 10 {
		t.Errorf("10 appends one after the other in %d transactions, want 10", n)
	}
}

// A caller's context must not reach a statement: cancelling one rolls back all,
// and what follows commits by itself.
func TestStatementsNeverGetACallersContext(t *testing.T) {
	s := fresh(t, nil)
	var stored, refused atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(g)))
			for i := range 100 {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(r.IntN(1500))*time.Microsecond, errTooLate)
				_, err := s.Append(ctx, one(fmt.Sprint(r.IntN(4)), fmt.Sprint(g, i)))
				cancel()
				switch {
				case err == nil:
					stored.Add(1)
				case errors.Is(err, store.ErrBusy) && errors.Is(err, errTooLate):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if stored.Load() == 0 || refused.Load() == 0 {
		t.Fatalf("%d stored and %d refused: this run shows nothing", stored.Load(), refused.Load())
	}
	if n := checkLog(t, s); n != int(stored.Load()) {
		t.Errorf("%d operations, %d were acknowledged", n, stored.Load())
	}
}

var errTooLate = errors.New("too late")

func TestAContextThatIsOverStoresNothing(t *testing.T) {
	s := fresh(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errTooLate)
	_, err := s.Append(ctx, one("a", "1"))
	if !errors.Is(err, store.ErrBusy) || !errors.Is(err, errTooLate) {
		t.Errorf("got %v", err)
	}
	if n := checkLog(t, s); n != 0 {
		t.Errorf("%d operations, want none", n)
	}
}
