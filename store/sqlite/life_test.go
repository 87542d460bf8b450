package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

func TestCloseLosesNothingThatWasAcknowledged(t *testing.T) {
	s := fresh(t, nil)
	var acknowledged atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := 0; ; i++ {
				_, err := s.Append(t.Context(), one(fmt.Sprint(i%5), fmt.Sprint(g)))
				if errors.Is(err, store.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	all.Go(func() {
		for {
			for _, err := range s.Scan(t.Context(), "notes", "", store.WithViews) {
				if errors.Is(err, store.ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	all.Go(func() {
		for after := uint64(0); ; {
			n, err := s.Follow(t.Context(), after)
			if errors.Is(err, store.ErrClosed) {
				return
			}
			after = n
		}
	})
	eventually(t, "a few appends", func() bool { return acknowledged.Load() > 200 })
	var closers sync.WaitGroup
	for range 4 {
		closers.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closers.Wait()
	all.Wait()
	s = open(t, s.path, nil)
	if n := checkLog(t, s); n != int(acknowledged.Load()) {
		t.Errorf("%d operations, %d were acknowledged", n, acknowledged.Load())
	}
}

func TestCloseRefusesWhatWaitsForAnotherProcess(t *testing.T) {
	s := fresh(t, nil)
	unlock := lock(t, s.path)
	defer unlock()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := s.Append(t.Context(), one("a", "1")); !errors.Is(err, store.ErrClosed) {
				t.Errorf("got %v, want closed", err)
			}
		})
	}
	eventually(t, "four requests", func() bool { return s.inQueue() == 4 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	unlock()
	if n := checkLog(t, open(t, s.path, nil)); n != 0 {
		t.Errorf("%d operations, want none", n)
	}
}

func TestCloseWaitsForAnUpdateInHand(t *testing.T) {
	s := fresh(t, nil)
	inside, leave := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := s.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			close(inside)
			<-leave
			_, err := s.AppendTx(ctx, tx, one("a", "1"))
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	<-s.closing
	select {
	case <-closed:
		t.Error("Close did not wait")
	default:
	}
	close(leave)
	<-closed
	all.Wait()
	if n := checkLog(t, open(t, s.path, nil)); n != 1 {
		t.Errorf("%d operations, want 1", n)
	}
}

func TestStreamsHoldNoConnection(t *testing.T) {
	s := fresh(t, &Options{Readers: 1})
	for _, id := range ids("d", 300) {
		mustAppend(t, s, one(id, "1"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	n := 0
	for r, err := range s.Runnable(ctx, []string{"notes", "unknown", "notes"}) {
		if err != nil {
			t.Fatal(err)
		}
		for d, err := range s.Scan(ctx, "notes", "", store.WithViews) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Head != 1 {
				t.Errorf("%+v", d)
			}
			break
		}
		outcomes, err := s.Commit(ctx, []store.Commit{{Key: r.Key, Applied: 1, View: []byte("v")}})
		if err != nil || outcomes[0] != store.Done {
			t.Fatalf("%s: %v, %v", r.Key, outcomes, err)
		}
		n++
	}
	if n != 300 {
		t.Errorf("%d runnable documents, want 300", n)
	}
}
