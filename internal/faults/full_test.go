//go:build linux

package faults

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
)

// tmpfs mounts a small file system, or skips the test.
func tmpfs(t *testing.T, size string) (folder string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	folder = t.TempDir()
	if err := syscall.Mount("refold", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return folder
}

// occupy takes all that is left on a disk.
func occupy(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for {
		if _, err := f.Write(page); errors.Is(err, syscall.ENOSPC) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// While the disk is full appends are refused and folds back off; when there is
// room again it goes on by itself.
func TestDiskFull(t *testing.T) {
	folder := tmpfs(t, "4m")
	s := newSystem(t, filepath.Join(folder, "app.db"))
	s.fill(50_000)
	occupy(t, filepath.Join(folder, "other"))
	for stored := 0; ; stored++ { // what room the log has left
		err := s.append(t.Context(), 1)
		if errors.Is(err, materializer.ErrFull) {
			break
		}
		if err != nil || stored > 10_000 {
			t.Fatalf("append to a full disk: %v", err)
		}
	}
	s.open()
	s.wantBackedOff(documents)
	for range 10 {
		if err := s.append(t.Context(), 50_000); !errors.Is(err, materializer.ErrFull) || errors.Is(err, store.ErrInDoubt) {
			t.Errorf("append to a full disk: %v, want ErrFull", err)
		}
	}
	if _, err := s.m.Health(t.Context()); !errors.Is(err, store.ErrFull) {
		t.Errorf("Health: %v, want ErrFull", err)
	}
	if err := syscall.Mount("refold", folder, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	s.fill(50_000)
	s.check()
}
