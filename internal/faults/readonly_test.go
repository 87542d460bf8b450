//go:build linux

package faults

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/refold-go/refold/store"
)

// immutable makes files that are open unwritable, also for root, or skips the
// test. It is what a file system does that turns read-only because of an error:
// remounting it is refused as long as somebody has a file open for writing.
func immutable(t *testing.T, files ...string) (undo func()) {
	t.Helper()
	chattr := func(flag string) ([]byte, error) {
		return exec.Command("chattr", append([]string{flag}, files...)...).CombinedOutput()
	}
	undo = func() {
		if out, err := chattr("-i"); err != nil {
			t.Errorf("chattr -i: %v: %s", err, out)
		}
	}
	if out, err := chattr("+i"); err != nil {
		t.Skipf("cannot make a file immutable here (root, chattr and ext4 or the like are needed): %v: %s", err, out)
	}
	t.Cleanup(undo)
	return undo
}

// While the files cannot be written appends fail and folds back off; when they can
// be it goes on by itself, and it has always been possible to read.
func TestFilesBecomeReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	s := newSystem(t, path)
	s.fill(1000)
	mend := immutable(t, path, path+"-wal")
	if err := s.append(t.Context(), 1); err == nil {
		t.Fatal("an append to files that cannot be written is acknowledged")
	} else {
		t.Logf("the first append: %v", err)
	}
	s.open()
	s.wantBackedOff(documents)
	for range 20 {
		if err := s.append(t.Context(), 1); err == nil || errors.Is(err, store.ErrInDoubt) {
			t.Fatalf("append to files that cannot be written: %v, want it refused", err)
		}
	}
	if _, err := s.m.Health(t.Context()); err == nil {
		t.Error("Health is content with files that cannot be written")
	} else {
		t.Logf("Health: %v", err)
	}
	n := 0
	for _, err := range s.chains.Operations(t.Context(), "d1", 1) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		t.Error("nothing can be read")
	}
	if _, err := s.chains.Latest(t.Context(), "d1"); err != nil {
		t.Errorf("Latest: %v", err)
	}
	mend()
	s.fill(1000)
	s.check()
}
