//go:build linux

package faults

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/refold-go/refold/materializer"
)

// loop is an ext4 file system in a file.
type loop struct{ image, folder string }

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// newLoop makes and mounts a file system, or skips the test.
func newLoop(t *testing.T) *loop {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("no power is cut: only root can mount a file system")
	}
	l := &loop{filepath.Join(t.TempDir(), "image"), t.TempDir()}
	if err := os.WriteFile(l.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(l.image, 64<<20); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(command("mkfs.ext4", "-q", l.image), l.mount()); err != nil {
		t.Skip("no power is cut: cannot make a file system in a file: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(l.folder, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return l
}

func (l *loop) mount() error { return command("mount", "-o", "loop", l.image, l.folder) }

// cut ends the file system as a power cut does: what has not reached the disk, and
// what is in the journal's memory, is lost.
func (l *loop) cut() error {
	const shutdown, withoutFlush = 0x8004587D, 2 // EXT4_IOC_SHUTDOWN, EXT4_GOING_FLAGS_NOLOGFLUSH
	f, err := os.Open(l.folder)
	if err != nil {
		return err
	}
	defer f.Close()
	how := uint32(withoutFlush)
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); e != 0 {
		return e
	}
	return nil
}

// again mounts it as after a start.
func (l *loop) again(t *testing.T) {
	t.Helper()
	var err error
	for range 3000 { // the process that was killed may not be quite gone
		if err = syscall.Unmount(l.folder, 0); !errors.Is(err, syscall.EBUSY) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := errors.Join(err, l.mount()); err != nil {
		t.Fatal(err)
	}
}

// The power of a disk is cut while a process appends and folds. Everything of
// which the process had told before the cut is there, the views are those of their
// operations, and the rest is folded.
func TestPowerCuts(t *testing.T) {
	cuts := 60
	if n, err := strconv.Atoi(os.Getenv("REFOLD_CUTS")); err == nil {
		cuts = n
	} else if brief() {
		cuts = 6
	}
	const perFile = 10
	l := newLoop(t)
	var acked []ack
	all := 0
	for n := range cuts {
		path := filepath.Join(l.folder, fmt.Sprint(n/perFile, ".db"))
		if n%perFile == 0 {
			acked = nil
		}
		fresh := l.liveAndCut(t, path, rand.N(100*time.Millisecond))
		acked, all = append(acked, fresh...), all+len(fresh)
		st, m, chains, err := open(path, nil)
		if err != nil {
			t.Fatalf("after cut %d: %v", n, err)
		}
		v, err := chains.Verify(t.Context(), materializer.VerifyOptions{})
		if err != nil || v.Different != 0 {
			t.Errorf("after cut %d: Verify: %+v, %v", n, v, err)
		}
		finish(t, m)
		compareStored(t, chains, acked, nil)
		if err := errors.Join(st.Close(), intact(path)); err != nil {
			t.Errorf("after cut %d: %v", n, err)
		}
		if t.Failed() {
			t.Fatalf("cut %d of %d", n, cuts)
		}
	}
	if all < cuts {
		t.Errorf("only %d operations were acknowledged", all)
	}
	t.Logf("%d cuts, %d acknowledged operations", cuts, all)
}

// liveAndCut lets a process work for a while after its first acknowledgement, cuts
// the power, and returns what was acknowledged before that began.
func (l *loop) liveAndCut(t *testing.T, path string, after time.Duration) (acked []ack) {
	t.Helper()
	c := startChildWith(t, "work", path, io.Discard)
	go c.read()
	select {
	case op, ok := <-c.acks:
		if !ok {
			t.Fatal("the process ended by itself")
		}
		acked = append(acked, op)
	case <-time.After(time.Minute):
		t.Fatal("nothing was acknowledged for a minute")
	}
	time.Sleep(after)
	for len(c.acks) > 0 {
		op, ok := <-c.acks
		if !ok {
			t.Fatal("the process ended by itself")
		}
		acked = append(acked, op)
	}
	if err := l.cut(); err != nil {
		t.Skip("no power is cut: ", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	for range c.acks { // until its output ends
	}
	c.Wait()
	l.again(t)
	return acked
}
