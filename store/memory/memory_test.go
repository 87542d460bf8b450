package memory_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	storetest.Run(t, func(testing.TB) store.Backend { return memory.New(nil) }, nil)
}

func TestContractWithSmallBodies(t *testing.T) {
	open := func(testing.TB) store.Backend { return memory.New(&memory.Options{MaxBody: 4 << 20}) }
	storetest.Run(t, open, &storetest.Options{MaxBody: 4 << 20})
}

func TestMaxBody(t *testing.T) {
	for limit, most := range map[int]int{-1: store.MaxBody, 0: store.MaxBody, 10: 10, store.MaxBody + 1: store.MaxBody} {
		s := memory.New(&memory.Options{MaxBody: limit})
		for size, want := range map[int]error{most: nil, most + 1: store.ErrInvalid} {
			entries := []store.Entry{{Body: make([]byte, size)}}
			_, err := s.Append(t.Context(), []store.Append{{Key: store.Key{Collection: "notes", ID: "a"}, Entries: entries}})
			if !errors.Is(err, want) {
				t.Errorf("with a limit of %d, a body of %d bytes: %v, want %v", limit, size, err, want)
			}
		}
	}
}

// In a bubble the store's clock is the fake one, and nothing of the store keeps
// the clock from moving on.
func TestFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New(nil)
		defer s.Close()
		k := store.Key{Collection: "notes", ID: "a"}
		begin := time.Now()
		if _, err := s.Append(t.Context(), []store.Append{{Key: k, Entries: make([]store.Entry, 1)}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		failure := &store.Failure{Seq: 1, Attempts: 1, Error: "e", Delay: time.Hour}
		if _, err := s.Commit(t.Context(), []store.Commit{{Key: k, Failure: failure}}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ sleep, wait time.Duration }{
			{0, time.Hour}, {59 * time.Minute, time.Minute}, {time.Minute - 1, 1}, {1, 0}, {time.Hour, 0},
		} {
			time.Sleep(c.sleep)
			for r, err := range s.Runnable(t.Context(), []string{"notes"}) {
				if err != nil || r.Wait != c.wait || !r.Since.Time.Equal(begin) {
					t.Errorf("after %s: %+v, %v, want a wait of %s since %s", c.sleep, r, err, c.wait, begin)
				}
			}
		}
	})
}

func TestFailureTextIsCut(t *testing.T) {
	s := memory.New(nil)
	k := store.Key{Collection: "notes", ID: "a"}
	if _, err := s.Append(t.Context(), []store.Append{{Key: k, Entries: make([]store.Entry, 1)}}); err != nil {
		t.Fatal(err)
	}
	text := string(make([]byte, store.MaxFailureText-1)) + "éé"
	if _, err := s.Commit(t.Context(), []store.Commit{{Key: k, Failure: &store.Failure{Seq: 1, Error: text, Stack: text}}}); err != nil {
		t.Fatal(err)
	}
	documents, err := s.Load(t.Context(), []store.Key{k}, store.WithViews)
	if err != nil {
		t.Fatal(err)
	}
	if f := documents[0].Failure; f.Error != text[:store.MaxFailureText-1] || f.Stack != f.Error {
		t.Errorf("texts of %d and %d bytes, want %d", len(f.Error), len(f.Stack), store.MaxFailureText-1)
	}
}

func TestEndedContext(t *testing.T) {
	s := memory.New(nil)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	for name, call := range map[string]func() error{
		"Load":        func() error { _, err := s.Load(ctx, nil, store.WithViews); return err },
		"Operations":  func() error { _, err := s.Operations(ctx, nil, store.Budget{}); return err },
		"Collections": func() error { _, err := s.Collections(ctx); return err },
		"Resolve":     func() error { _, err := s.Resolve(ctx, store.Token{}, nil); return err },
		"End":         func() error { _, err := s.End(ctx); return err },

		"Count":     func() error { _, err := s.Count(ctx, "notes"); return err },
		"Forgotten": func() error { _, err := s.Forgotten(ctx, store.Key{}); return err },
		"Discards":  func() error { return first(s.Discards(ctx, "notes")) },
		"Runnable":  func() error { return first(s.Runnable(ctx, nil)) },
		"Scan":      func() error { return first(s.Scan(ctx, "notes", "", store.WithViews)) },
		"Parked":    func() error { return first(s.Parked(ctx, "notes")) },
	} {
		if err := call(); err != stopped { //nolint:errorlint // The cause itself is promised.
			t.Errorf("%s: %v, want the context's cause", name, err)
		}
	}
}

func first[T any](stream iter.Seq2[T, error]) error {
	for _, err := range stream {
		return err
	}
	return nil
}
