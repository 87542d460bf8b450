package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/refold-go/refold/store"
)

func TestTheSyncLevelIsThatOfTheGroup(t *testing.T) {
	view := []store.Commit{{Key: key("a"), Applied: 1, View: []byte("v")}}
	for _, test := range []struct {
		name    string
		options *Options
		write   func(s *Store) error
		level   Sync
	}{
		{"an append", nil, func(s *Store) error { _, err := s.Append(t.Context(), one("a", "2")); return err }, SyncFull},
		{"an append, relaxed", &Options{Sync: SyncNormal}, func(s *Store) error { _, err := s.Append(t.Context(), one("a", "2")); return err }, SyncNormal},
		{"views alone", nil, func(s *Store) error { _, err := s.Commit(t.Context(), view); return err }, SyncNormal},
		{"parking", &Options{Sync: SyncNormal}, func(s *Store) error {
			_, err := s.Commit(t.Context(), []store.Commit{{Key: key("a"), Failure: &store.Failure{Seq: 1, Attempts: 1, Park: true}}})
			return err
		}, SyncFull},
		{"resuming", &Options{Sync: SyncNormal}, func(s *Store) error { _, err := s.Resume(t.Context(), []store.Key{key("a")}); return err }, SyncFull},
		{"registering", &Options{Sync: SyncNormal}, func(s *Store) error { return s.Register(t.Context(), "notes", 1) }, SyncFull},
		{"an update", &Options{Sync: SyncNormal}, func(s *Store) error { return s.Update(t.Context(), nothingToDo) }, SyncFull},
		{"views with an append", nil, func(s *Store) error {
			grouped(t, s,
				func() { s.Commit(t.Context(), view) },
				func() { mustAppend(t, s, one("b", "1")) })
			return nil
		}, SyncFull},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := fresh(t, test.options)
			mustAppend(t, s, one("a", "1"))
			// The other level first, so that a level that is never set shows.
			if test.level == SyncFull {
				if _, err := s.Commit(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			} else if err := s.Register(t.Context(), "others", 1); err != nil {
				t.Fatal(err)
			}
			if err := test.write(s); err != nil {
				t.Fatal(err)
			}
			got, err := s.writer.conn.pragma("synchronous")
			if err != nil {
				t.Fatal(err)
			}
			if got != test.level.level() {
				t.Errorf("synchronous is %v after it, want %d", got, test.level.level())
			}
		})
	}
}

func TestAGroupThatAnsweredOnlyDuplicatesCommitsARow(t *testing.T) {
	s := fresh(t, nil)
	appends := []store.Append{{Key: key("a"), Entries: []store.Entry{{ID: "1", Body: []byte("1")}}}}
	first := mustAppend(t, s, appends)
	before := logCommits(t, s)
	again := mustAppend(t, s, appends)
	if n := logCommits(t, s) - before; n != 1 {
		t.Errorf("%d commits for a duplicate, want 1: what was found may not be synced", n)
	}
	if again.Token != first.Token || !again.Documents[0].Operations[0].Duplicate {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

func TestFullEndsOnlyTheOneThatDoesNotFit(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	pages, err := s.writer.conn.pragma("page_count")
	if err != nil {
		t.Fatal(err)
	}
	limit := pages.(int64) + 12
	if err := s.writer.conn.run(fmt.Sprintf("PRAGMA max_page_count = %d", limit)); err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 3)
	try := func(i, size int) func() {
		return func() { _, errs[i] = s.Append(context.Background(), one(fmt.Sprint(i), string(make([]byte, size)))) }
	}
	grouped(t, s, try(0, 10), try(1, 1<<20), try(2, 10))
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("the small ones: %v, %v", errs[0], errs[2])
	}
	if !errors.Is(errs[1], store.ErrFull) || errors.Is(errs[1], store.ErrInDoubt) {
		t.Errorf("the big one: %v, want full", errs[1])
	}
	if n := checkLog(t, s); n != 3 {
		t.Errorf("%d operations, want 3", n)
	}
	mustAppend(t, s, one("a", "2")) // and it goes on
}

func TestACommitThatFailsIsInDoubtAndCanBeSentAgain(t *testing.T) {
	s := fresh(t, nil)
	c := start(t, "doubt", s.path)
	c.expect(t, "done")
	c.finish(t)
	if n := checkLog(t, s); n != 1 {
		t.Errorf("%d operations, want 1", n)
	}
}

func TestIdsAreIdempotentUnderConcurrencyAndAcrossReopening(t *testing.T) {
	s := fresh(t, nil)
	path := s.path
	for round := range 2 {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for i := range 25 {
					a := store.Append{Key: key("a"), Entries: []store.Entry{{ID: fmt.Sprint("op", i), Body: []byte{byte(i)}}}}
					if _, err := s.Append(t.Context(), []store.Append{a}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n := checkLog(t, s); n != 25 {
			t.Errorf("round %d: %d operations, want 25", round, n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, path, nil)
	}
}
