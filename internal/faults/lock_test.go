package faults

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// While another process holds the lock, who has no time is refused, all others
// wait and are stored, and folding goes on afterwards.
func TestLockHeldByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	s := newSystem(t, path)
	s.fill(100)
	holder := startChild(t, "lock", path)
	if line, err := holder.out.ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	over := time.After(lasting())
	s.open()
	var patient sync.WaitGroup
	for range 4 {
		patient.Go(func() {
			for range 10 {
				if err := s.append(t.Context(), 100); err != nil {
					t.Errorf("append of somebody who waits: %v", err)
				}
			}
		})
	}
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		start := time.Now()
		err := s.append(ctx, 100)
		cancel()
		if took := time.Since(start); !errors.Is(err, materializer.ErrBusy) || errors.Is(err, store.ErrInDoubt) || took > 20*time.Second {
			t.Errorf("append with 50 ms: %v after %v, want ErrBusy", err, took)
		}
	}
	<-over
	for v, err := range s.chains.All(t.Context()) {
		if err != nil || v.Applied != 0 {
			t.Errorf("%s at %d, %v: nobody could write", v.ID, v.Applied, err)
		}
	}
	holder.end(t)
	patient.Wait()
	s.fill(100)
	s.check()
}
