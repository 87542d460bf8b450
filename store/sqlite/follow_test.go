package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestFollowNoticesWritesFromElsewhere(t *testing.T) {
	s := fresh(t, nil)
	other := open(t, s.path, nil)
	db := application(t, s.path, "_synchronous=FULL&_txlock=immediate")
	for _, test := range []struct {
		name  string
		write func() error
	}{
		{"another handle", func() error { _, err := other.Append(t.Context(), one("a", "1")); return err }},
		{"a transaction of the application", func() error {
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			if _, err := s.AppendTx(t.Context(), tx, one("a", "1")); err != nil {
				return err
			}
			return tx.Commit()
		}},
		{"an update", func() error {
			return s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := s.AppendTx(ctx, tx, one("a", "1"))
				return err
			})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := quiet(t, s)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errTooLate)
					defer cancel()
					if n, err := s.Follow(ctx, after); err != nil || n == after {
						t.Errorf("got %d, %v", n, err)
					}
				})
			}
			if err := test.write(); err != nil {
				t.Fatal(err)
			}
			all.Wait()
			// Who asks later still learns of it.
			if n, err := s.Follow(t.Context(), after); err != nil || n == after {
				t.Errorf("asked later: %d, %v", n, err)
			}
		})
	}
}

func TestFollowDoesNotWakeForAppendsOfItsOwn(t *testing.T) {
	s := fresh(t, nil)
	after := quiet(t, s)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*followEvery, errTooLate)
	defer cancel()
	mustAppend(t, s, one("a", "1"))
	if n, err := s.Follow(ctx, after); !errors.Is(err, errTooLate) {
		t.Errorf("got %d, %v", n, err)
	}
}

// quiet follows until nothing is new.
func quiet(t testing.TB, s *Store) uint64 {
	t.Helper()
	after := uint64(0)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 3*followEvery)
		n, err := s.Follow(ctx, after)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return after
		}
		if err != nil {
			t.Fatal(err)
		}
		after = n
	}
}
