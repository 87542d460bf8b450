package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// countingStore counts calls of Operations, and fails those from failAt on.
type countingStore struct {
	store.Store
	calls, failAt int
}

var errRead = errors.New("cannot read")

func (s *countingStore) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	if s.calls++; s.failAt > 0 && s.calls >= s.failAt {
		return nil, errRead
	}
	return s.Store.Operations(ctx, ranges, budget)
}

func TestReadOperations(t *testing.T) {
	const n = 3000
	k := store.Key{Collection: "notes", ID: "n1"}
	s := &countingStore{Store: memory.New(nil)}
	mustAppend(t, s, k, n, 0)

	for from, first := range map[int64]int64{-5: 1, 0: 1, 1: 1, 2: 2, 1024: 1024, 1025: 1025, n: n, n + 1: n + 1} {
		next := first
		for op, err := range store.ReadOperations(t.Context(), s, k, from) {
			if err != nil || op.Seq != next {
				t.Fatalf("from %d: operation %d, %v, want %d", from, op.Seq, err, next)
			}
			next++
		}
		if next != n+1 {
			t.Errorf("from %d: ended at %d", from, next-1)
		}
	}

	t.Run("leaving the loop reads no further", func(t *testing.T) {
		s.calls = 0
		for range store.ReadOperations(t.Context(), s, k, 1) {
			break
		}
		if s.calls != 1 {
			t.Errorf("%d pages were read", s.calls)
		}
	})
	t.Run("an error ends the loop", func(t *testing.T) {
		s.calls, s.failAt = 0, 2
		defer func() { s.failAt = 0 }()
		seen, failed := 0, 0
		for op, err := range store.ReadOperations(t.Context(), s, k, 1) {
			if err == nil {
				seen++
				continue
			}
			failed++
			if !errors.Is(err, errRead) || op.Seq != 0 {
				t.Errorf("element is %+v, %v", op, err)
			}
		}
		if failed != 1 || seen == 0 || seen >= n {
			t.Errorf("%d operations and %d errors", seen, failed)
		}
	})
	t.Run("what is appended in the loop is read", func(t *testing.T) {
		last := int64(0)
		for op, err := range store.ReadOperations(t.Context(), s, k, n) {
			if err != nil {
				t.Fatal(err)
			}
			if last = op.Seq; last < n+3 {
				mustAppend(t, s, k, 1, 0)
			}
		}
		if last != n+3 {
			t.Errorf("the last operation was %d, want %d", last, n+3)
		}
	})
	t.Run("a missing document has none", func(t *testing.T) {
		for op, err := range store.ReadOperations(t.Context(), s, store.Key{Collection: "notes", ID: "no"}, 0) {
			t.Errorf("operation %+v, %v", op, err)
		}
	})
	t.Run("large bodies come in smaller pages", func(t *testing.T) {
		large := store.Key{Collection: "notes", ID: "large"}
		mustAppend(t, s, large, 10, 3<<20)
		s.calls = 0
		next := int64(1)
		for op, err := range store.ReadOperations(t.Context(), s, large, 1) {
			if err != nil || op.Seq != next {
				t.Fatalf("operation %d, %v, want %d", op.Seq, err, next)
			}
			next++
		}
		if s.calls < 10 {
			t.Errorf("10 bodies of 3 MiB came in %d pages", s.calls)
		}
	})
}

func mustAppend(t *testing.T, s store.Store, k store.Key, n, size int) {
	t.Helper()
	entries := make([]store.Entry, n)
	for i := range entries {
		entries[i].Body = append(make([]byte, size), fmt.Sprint(i)...)
	}
	if _, err := s.Append(t.Context(), []store.Append{{Key: k, Entries: entries}}); err != nil {
		t.Fatal(err)
	}
}
