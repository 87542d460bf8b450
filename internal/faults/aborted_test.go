//go:build linux

package faults

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/refold-go/refold/store"
)

// disk makes an ext4 file system in a file that turns read-only at an error, and
// mounts it, or skips the test. abort lets it find an error, again mends it and
// mounts it as it was.
func disk(t *testing.T) (folder string, abort func(), again func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a file system")
	}
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 64<<20); err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	do := func(name string, args ...string) error {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			err = errors.New(name + ": " + err.Error() + ": " + string(out))
		}
		return err
	}
	mount := func() error { return do("mount", "-o", "loop,errors=remount-ro", image, folder) }
	if err := errors.Join(do("mkfs.ext4", "-q", image), mount()); err != nil {
		t.Skip("cannot make a file system: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	abort = func() {
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(mounts)) {
			if f := strings.Fields(line); f[1] == folder {
				err := os.WriteFile("/sys/fs/ext4/"+filepath.Base(f[0])+"/trigger_fs_error", []byte("planted"), 0)
				if err != nil {
					t.Skip("cannot plant an error: ", err)
				}
				return
			}
		}
		t.Fatal("the file system is not mounted")
	}
	again = func() {
		t.Helper()
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Fatalf("unmount: %v", err)
		}
		do("e2fsck", "-p", image) // its status says that it has mended something
		if err := mount(); err != nil {
			t.Fatal(err)
		}
	}
	return folder, abort, again
}

// A file system that turns read-only under open files, as after an error of the
// disk, stops neither the process nor reading; when it is mounted again everything
// acknowledged is there.
func TestFileSystemTurnsReadOnly(t *testing.T) {
	folder, abort, again := disk(t)
	path := filepath.Join(folder, "app.db")
	s := newSystem(t, path)
	s.fill(1000)
	abort()
	if f, err := os.Create(filepath.Join(folder, "other")); !errors.Is(err, syscall.EROFS) {
		f.Close()
		t.Fatalf("the file system is not read-only: %v", err)
	}
	s.open()
	s.wantBackedOff(documents)
	for range 10 {
		if err := s.append(t.Context(), 1); err == nil || errors.Is(err, store.ErrInDoubt) {
			t.Errorf("append: %v, want it refused", err)
		}
	}
	if _, err := s.m.Health(t.Context()); err == nil {
		t.Error("Health is content")
	} else {
		t.Logf("Health: %v", err)
	}
	if v, err := s.chains.Latest(t.Context(), "d1"); err != nil || v.Head != 1 {
		t.Errorf("Latest: %+v, %v", v, err)
	}
	s.broken = true // it cannot take away the mark of its claim
	t.Logf("Run: %v", s.halt())
	if err := s.st.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	again()

	st, m, chains, err := open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, m)
	checkStored(t, chains, s.acked, s.refused)
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
