package sqlite

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/store"
)

const (
	// longLog is from how many bytes on a write-ahead log is suspected to be one
	// that only grows: four times what it is cut to when it has been emptied.
	longLog = 4 * logLimit
	// grownTimes is how often it must have been found longer than before.
	grownTimes = 3
	// longLock is how long another process may hold the write lock.
	longLock = 10 * time.Second
)

// health is what the writer and Check know of how writing goes.
type health struct {
	// lockedSince is since when the writer has waited for another process, in
	// nanoseconds since 1970; 0 if it does not wait.
	lockedSince atomic.Int64

	// mu guards the following fields.
	mu    sync.Mutex
	last  error // of the last transaction that was tried; nil if it went well
	log   int64 // how many bytes the log had when it was last looked at
	grown int   // how often it was found longer since it was last short
}

// wrote is told how a transaction ended.
func (h *health) wrote(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = err
}

func (h *health) lastError() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// measured is told the length of the log, and reports whether it only grows.
func (h *health) measured(size int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case size <= longLog || size < h.log:
		h.grown = 0
	case size > h.log:
		h.grown++
	}
	h.log = size
	return h.grown >= grownTimes
}

// Check implements [store.Checker]. It looks at the length of the write-ahead
// log, and at what became of the last transaction; only if that failed it tries
// to write, to find out whether the cause is gone.
func (s *Store) Check(ctx context.Context) error {
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	h := &s.writer.health
	if since := h.lockedSince.Load(); since != 0 {
		if d := time.Since(time.Unix(0, since)); d > longLock {
			return fmt.Errorf("refold: another process has held the write lock for %s", d.Round(time.Second))
		}
	}
	if h.lastError() != nil {
		if err := s.submit(ctx, newRequest(touchWork{}, true, 0)); err != nil {
			return fmt.Errorf("refold: the store cannot be written: %w", err)
		}
	}
	// If there is no log nobody has written.
	if info, err := os.Stat(s.path + "-wal"); err == nil && h.measured(info.Size()) {
		return fmt.Errorf("refold: the write-ahead log has %d MB and only grows: somebody reads the database without an end, or it cannot be copied into the file", info.Size()>>20)
	}
	return nil
}

// touchWork writes a row of no meaning.
type touchWork struct{}

func (touchWork) do(t *transaction) error {
	t.touch = true
	return nil
}
