//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/refold-go/refold/internal/faultvfs"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/sqlite"
)

// limitDescriptors lets the process open no file any more, also not in place of one
// that it closes.
func limitDescriptors() (undo func() error, err error) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		return nil, err
	}
	tight := was
	tight.Cur = 3
	return func() error { return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &tight)
}

// childDescriptors appends and folds while no file can be opened: first with the
// files it has, then without its writing connection, which was given up because of
// a failed sync and cannot be opened again.
func childDescriptors(path string) error {
	disk, err := faultvfs.Attach(filepath.Dir(path))
	if err != nil {
		return err
	}
	st, m, chains, err := open(path, nil)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	n := 0
	next := func() materializer.Change {
		n++
		return chains.ChangeWith(fmt.Sprint("d", n%documents), link(ack{id: fmt.Sprint("op", n)}, "x"))
	}
	add := func(change materializer.Change) error {
		_, err := m.Append(context.Background(), change)
		return err
	}
	if err := add(next()); err != nil {
		return err
	}
	if err := m.Drain(ctx); err != nil {
		return err
	}
	undo, err := limitDescriptors()
	if err != nil {
		return err
	}
	if other, err := sqlite.Open(path, nil); err == nil {
		return errors.Join(errors.New("a file was opened"), other.Close())
	} else if errors.Is(err, sqlite.ErrNotDatabase) || errors.Is(err, sqlite.ErrSchema) {
		return fmt.Errorf("the file was taken for another one: %w", err)
	}
	for range 100 {
		if err := add(next()); err != nil {
			return fmt.Errorf("with the files that are open: %w", err)
		}
	}
	if err := m.Drain(ctx); err != nil {
		return err
	}
	disk.Arm(faultvfs.Fault{Kinds: faultvfs.Sync, At: 1})
	doubtful := next()
	if err := add(doubtful); !errors.Is(err, store.ErrInDoubt) {
		return fmt.Errorf("a sync that failed: %v, want it in doubt", err)
	}
	disk.Heal()
	for range 10 {
		if err := add(next()); err == nil || errors.Is(err, store.ErrInDoubt) {
			return fmt.Errorf("without a connection: %v, want it refused", err)
		}
	}
	refused := n
	if _, err := m.Health(ctx); err == nil {
		return errors.New("Health is content without a connection")
	}
	if err := undo(); err != nil {
		return err
	}
	if err := add(doubtful); err != nil {
		return fmt.Errorf("when files can be opened again: %w", err)
	}
	if err := add(next()); err != nil || n != refused+1 {
		return err
	}
	if err := m.Drain(ctx); err != nil {
		return err
	}
	stop()
	if err := errors.Join(<-done, st.Close()); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}

func TestDescriptorsExhausted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	c := startChild(t, "descriptors", path)
	if line, err := c.out.ReadString('\n'); line != "done\n" {
		t.Fatalf("the process says %q, %v", line, err)
	}
	c.end(t)
	st, _, chains, err := open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var acked, refused []ack
	for n := 1; n <= 113; n++ {
		op := ack{fmt.Sprint("d", n%documents), fmt.Sprint("op", n)}
		if n > 102 && n < 113 {
			refused = append(refused, op)
		} else {
			acked = append(acked, op)
		}
	}
	checkStored(t, chains, acked, refused)
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
