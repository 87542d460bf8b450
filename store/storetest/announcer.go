package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"github.com/refold-go/refold/store"
)

// ear collects what a store announces.
type ear struct {
	mu     sync.Mutex // guards what follows
	dirty  []string
	done   []string
	closed int
}

func (e *ear) listener() store.Listener {
	return store.Listener{
		Dirty:     func(keys []store.Key) { e.hear(&e.dirty, keys) },
		Committed: func(keys []store.Key) { e.hear(&e.done, keys) },
		Closed: func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.closed++
		},
	}
}

func (e *ear) hear(into *[]string, keys []store.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range keys {
		*into = append(*into, k.ID)
	}
}

// mustHaveHeard compares what was announced, and forgets it.
func (e *ear) mustHaveHeard(f *fixture, dirty, done string) {
	f.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	slices.Sort(e.dirty)
	slices.Sort(e.done)
	if got := fmt.Sprint(e.dirty, e.done); got != dirty+" "+done {
		f.Errorf("announced %s, want %s %s", got, dirty, done)
	}
	e.dirty, e.done = nil, nil
}

var announcerChecks = []check{
	{"an append announces its documents, when it is stored", func(f *fixture) {
		var e ear
		f.Cleanup(f.b.Listen(e.listener()))
		f.appendAll(store.Append{Key: key("a"), Entries: entries("1", "2")}, store.Append{Key: key("b"), Entries: entries("1")})
		e.mustHaveHeard(f, "[a b]", "[]")
		_, err := f.b.Append(background, []store.Append{{Key: key("c"), Head: new(int64(7)), Entries: entries("1")}})
		if err == nil {
			f.Error("a wrong head was not refused")
		}
		e.mustHaveHeard(f, "[]", "[]")
	}},
	{"an append of duplicates, or to a parked document, announces nothing", func(f *fixture) {
		var e ear
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1")}})
		f.append(key("b"), "1")
		f.park(key("b"))
		f.Cleanup(f.b.Listen(e.listener()))
		f.appendAll(store.Append{Key: key("a"), Entries: []store.Entry{named("1")}})
		f.append(key("b"), "2")
		e.mustHaveHeard(f, "[]", "[]")
	}},
	{"a commit announces the documents that were stored", func(f *fixture) {
		var e ear
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.Cleanup(f.b.Listen(e.listener()))
		if _, err := f.b.Commit(background, []store.Commit{
			{Key: key("a"), Applied: 1, View: []byte("v")},
			{Key: key("b"), Loaded: 1, Applied: 1},
		}); err != nil {
			f.Fatalf("Commit: %v", err)
		}
		e.mustHaveHeard(f, "[]", "[a]")
	}},
	{"resuming announces the documents that were parked", func(f *fixture) {
		var e ear
		f.append(key("a"), "1")
		f.append(key("b"), "1")
		f.park(key("a"))
		f.Cleanup(f.b.Listen(e.listener()))
		if _, err := f.b.Resume(background, []store.Key{key("a"), key("b"), key("none")}); err != nil {
			f.Fatalf("Resume: %v", err)
		}
		e.mustHaveHeard(f, "[a]", "[]")
	}},
	{"every listener is told until it stops, and of the closing", func(f *fixture) {
		var first, second ear
		stop := f.b.Listen(first.listener())
		f.b.Listen(second.listener())
		f.append(key("a"), "1")
		stop()
		f.append(key("b"), "1")
		first.mustHaveHeard(f, "[a]", "[]")
		second.mustHaveHeard(f, "[a b]", "[]")
		for range 2 {
			if err := f.b.Close(); err != nil {
				f.Fatalf("Close: %v", err)
			}
		}
		f.closed = true
		if first.closed != 0 || second.closed != 1 {
			f.Errorf("the closing was announced %d and %d times, want 0 and 1", first.closed, second.closed)
		}
	}},
	{"an Update announces what AppendTx appended, when it is committed", func(f *fixture) {
		tr := f.transactor()
		var e ear
		f.Cleanup(f.b.Listen(e.listener()))
		mustUpdate(f, tr, func(ctx context.Context, tx *sql.Tx) error {
			mustAppendTx(f, tr, ctx, tx, key("a"))
			e.mustHaveHeard(f, "[]", "[]")
			return nil
		})
		e.mustHaveHeard(f, "[a]", "[]")
		if err := tr.Update(background, func(ctx context.Context, tx *sql.Tx) error {
			mustAppendTx(f, tr, ctx, tx, key("b"))
			return errFailed
		}); err == nil {
			f.Error("the error of the function was lost")
		}
		e.mustHaveHeard(f, "[]", "[]")
	}},
}
