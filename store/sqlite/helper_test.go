package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// open opens a store that is closed at the end of the test.
func open(t testing.TB, path string, o *Options) *Store {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

// fresh opens a new store.
func fresh(t testing.TB, o *Options) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "store.db"), o)
}

func key(id string) store.Key { return store.Key{Collection: "notes", ID: id} }

// one is an append of operations with these bodies to one document.
func one(id string, bodies ...string) []store.Append {
	a := store.Append{Key: key(id)}
	for _, b := range bodies {
		a.Entries = append(a.Entries, store.Entry{Kind: "k", Body: []byte(b)})
	}
	return []store.Append{a}
}

func mustAppend(t testing.TB, s *Store, appends []store.Append) store.Appended {
	t.Helper()
	got, err := s.Append(context.Background(), appends)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func load(t testing.TB, s *Store, id string) store.Document {
	t.Helper()
	docs, err := s.Load(context.Background(), []store.Key{key(id)}, store.WithViews)
	if err != nil {
		t.Fatal(err)
	}
	return docs[0]
}

// checkLog checks what holds of every store: seqs are dense, positions are
// contiguous from 1, and each document is dirty exactly if its view lacks
// something. It returns how many operations there are.
func checkLog(t testing.TB, s *Store) int {
	t.Helper()
	ctx := context.Background()
	seen := map[store.Position]bool{}
	collections, err := s.Collections(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range collections {
		for d, err := range s.Scan(ctx, c.Name, "", store.WithoutViews) {
			if err != nil {
				t.Fatal(err)
			}
			next := int64(1)
			for op, err := range store.ReadOperations(ctx, s, d.Key, 0) {
				if err != nil {
					t.Fatal(err)
				}
				if op.Seq != next {
					t.Fatalf("%s: seq %d where %d should be", d.Key, op.Seq, next)
				}
				if seen[op.Position] {
					t.Fatalf("%s: position %d twice", d.Key, op.Position)
				}
				seen[op.Position] = true
				if op.Seq == d.Applied+1 && d.Since.Position != op.Position {
					t.Fatalf("%s: since %d, want %d", d.Key, d.Since.Position, op.Position)
				}
				next++
			}
			if next-1 != d.Head {
				t.Fatalf("%s: head %d but %d operations", d.Key, d.Head, next-1)
			}
			if d.Dirty() != (d.Since.Position != 0) {
				t.Fatalf("%s: dirty %v but since %v", d.Key, d.Dirty(), d.Since)
			}
		}
	}
	end, err := s.End(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if last, _ := end.Cut(s.incarnation); int(last.Min()) != len(seen) {
		t.Fatalf("last position %d but %d operations", last.Min(), len(seen))
	}
	return len(seen)
}

func ids(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return all
}

// eventually waits until f is true. It is for what another goroutine is about to
// do and nobody can be told of.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// inQueue returns how many requests are in the queue.
func (s *Store) inQueue() int {
	s.writer.queue.mu.Lock()
	defer s.writer.queue.mu.Unlock()
	return len(s.writer.queue.requests)
}

// lock holds the write lock as another process would, until unlock is called.
func lock(t testing.TB, path string) (unlock func()) {
	t.Helper()
	c, err := openWriter(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := retry(time.Minute, c.begin); err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		if err := errors.Join(c.rollback(), c.shut()); err != nil {
			t.Error(err)
		}
	})
}

// grouped starts functions that write while the lock is held, so that they wait
// in the queue in this order, and lets them go on together.
func grouped(t testing.TB, s *Store, fs ...func()) {
	t.Helper()
	unlock := lock(t, s.path)
	defer unlock()
	var all sync.WaitGroup
	for i, f := range fs {
		all.Go(f)
		eventually(t, "a request in the queue", func() bool { return s.inQueue() == i+1 })
	}
	unlock()
	all.Wait()
}

// logCommits counts the transactions in the write-ahead log since it was last
// emptied: frames that say how large the file is after them.
func logCommits(t testing.TB, s *Store) int {
	t.Helper()
	wal, err := os.ReadFile(s.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	const header, frameHeader = 32, 24
	page := int(binary.BigEndian.Uint32(wal[8:]))
	salt := wal[16:24]
	n := 0
	for at := header; at+frameHeader+page <= len(wal); at += frameHeader + page {
		if !bytes.Equal(wal[at+8:at+16], salt) {
			break
		}
		if binary.BigEndian.Uint32(wal[at+4:]) != 0 {
			n++
		}
	}
	return n
}

func nothingToDo(context.Context, *sql.Tx) error { return nil }
