//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
)

// isStopped tells whether a process is stopped, as the system sees it.
func isStopped(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "T")
}

// river #1135: nobody takes a stopped process for a dead one. It keeps its claim,
// and goes on where it was; nothing is lost and no view falls back.
func TestRiver1135_StoppedAndContinued(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	c := startChild(t, "work", path)
	go c.read()
	var acked []ack
	more := func(n int) { // waits for n acknowledgements
		t.Helper()
		limit := time.After(time.Minute)
		for range n {
			select {
			case op, ok := <-c.acks:
				if !ok {
					t.Fatal("the process has ended")
				}
				acked = append(acked, op)
			case <-limit:
				t.Fatal("nothing was acknowledged for a minute")
			}
		}
	}
	more(100)
	st, m, chains, err := open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	applied := make(map[string]int64)
	look := func() (sum int64) {
		t.Helper()
		for v, err := range chains.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if v.Applied < applied[v.ID] || v.State.N != v.Applied {
				t.Errorf("%s: view of %d that says %d, it was at %d", v.ID, v.Applied, v.State.N, applied[v.ID])
			}
			applied[v.ID] = v.Applied
			sum += v.Applied
		}
		return sum
	}
	look()
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for !isStopped(t, c.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	over := time.After(lasting())
	stood := look()
	for waiting := true; waiting; {
		if err := m.Run(t.Context()); !errors.Is(err, materializer.ErrClaimed) {
			t.Fatalf("a second materializer: %v, want ErrClaimed", err)
		}
		if now := look(); now != stood {
			t.Fatalf("the views went from %d to %d operations while the process was stopped", stood, now)
		}
		select {
		case <-over:
			waiting = false
		case <-time.After(100 * time.Millisecond): // until it is asked again
		}
	}
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	more(len(c.acks) + 100)
	if now := look(); now <= stood {
		if err := m.Drain(within(t)); err != nil {
			t.Error(err)
		}
		if now := look(); now <= stood {
			t.Errorf("the views stand at %d operations, as when the process was stopped", now)
		}
	}
	if err := m.Run(t.Context()); !errors.Is(err, materializer.ErrClaimed) {
		t.Errorf("a second materializer: %v, want ErrClaimed", err)
	}
	if err := c.in.Close(); err != nil {
		t.Error(err)
	}
	for op := range c.acks {
		acked = append(acked, op)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
	look()
	// The claim is free now; what was left is done by the next one.
	finish(t, m)
	look()
	checkStored(t, chains, acked, nil)
}
