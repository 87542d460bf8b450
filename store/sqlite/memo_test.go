package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/store"
)

// checkMemo compares what the writer remembers, if it is good, with the file, and returns
// how many documents it remembers. Nobody else may use the store.
func checkMemo(t rapid.TB, s *Store) int {
	c := s.writer.conn
	if c == nil || !c.memo.good {
		return 0
	}
	version, err := c.dataVersion()
	if err != nil {
		t.Fatal(err)
	}
	m := &c.memo
	if version != m.version {
		return 0 // it will not be used
	}
	fresh := newTransaction(&c.conn, s.incarnation, 0, time.Now())
	position, err := fresh.end()
	if err != nil {
		t.Fatal(err)
	}
	if m.position >= 0 && m.position != position {
		t.Errorf("position %d is remembered, the file has %d", m.position, position)
	}
	if m.changes.known {
		last, err := c.one(getMeta, metaChange)
		if err != nil {
			t.Fatal(err)
		}
		if got := integer(last[0]); got != m.changes.last {
			t.Errorf("change %d is remembered, the file has %d", m.changes.last, got)
		}
		ceiling, err := c.one(getMeta, metaCeiling)
		if err != nil {
			t.Fatal(err)
		}
		if got := integer(ceiling[0]); got != m.changes.ceiling {
			t.Errorf("a ceiling of %d is remembered, the file has %d", m.changes.ceiling, got)
		}
	}
	if row, err := c.one(anyForgotten); err != nil {
		t.Fatal(err)
	} else if m.forgets == forgotNone && row != nil {
		t.Error("that nothing was forgotten is remembered, the file has something")
	}
	served := make(map[int64]*generation)
	for name, in := range m.collections {
		got, err := fresh.collection(name)
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			t.Errorf("collection %s is remembered, the file has none", name)
			continue
		}
		one, other := *in, *got
		one.mappings, other.mappings = nil, nil
		one.served.of, other.served.of = nil, nil
		one.served.inputs, other.served.inputs, one.served.target, other.served.target = nil, nil, nil, nil
		if got, want := fmt.Sprintf("%+v", one), fmt.Sprintf("%+v", other); got != want {
			t.Errorf("collection %s is remembered as\n%s, the file has\n%s", name, got, want)
		}
		served[in.served.id] = &in.served
	}
	for of, d := range m.documents {
		g := served[of.generation]
		if g == nil {
			t.Errorf("%v is remembered, of a generation that is not served", of)
			continue
		}
		got, err := fresh.document(g, of.name)
		if err != nil {
			t.Fatal(err)
		}
		if got == nil || *got != *d {
			t.Errorf("%v is remembered as %+v, the file has %+v", of, *d, got)
		}
	}
	return len(m.documents)
}

// TestMemoIsWhatTheFileHas: after anything that is done to the store, by this handle, by a
// transaction of the application or by another connection, what the writer remembers is
// what it would read.
func TestMemoIsWhatTheFileHas(t *testing.T) {
	folder := t.TempDir()
	remembered, done := 0, make(map[string]int)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		dir, err := os.MkdirTemp(folder, "")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "store.db")
		s, err := Open(path, &Options{Sync: SyncNormal})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		other, err := Open(path, &Options{Sync: SyncNormal})
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		must := func(err error) {
			t.Helper()
			if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) &&
				!errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrForgotten) {
				t.Fatal(err)
			}
		}
		version := 1
		register := func(h *Store) {
			if err := h.Register(ctx, "notes", version); err != nil {
				t.Fatal(err)
			}
		}
		register(s)
		anyKey := func() store.Key {
			return store.Key{Collection: "notes", ID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id")}
		}
		appends := func() []store.Append {
			a := store.Append{Key: anyKey()}
			for range rapid.IntRange(1, 3).Draw(t, "operations") {
				a.Entries = append(a.Entries, store.Entry{Kind: "k", Body: []byte("body")})
			}
			if rapid.IntRange(0, 3).Draw(t, "with an id") == 0 {
				a.Entries[0].ID = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "operation id")
			}
			if rapid.IntRange(0, 3).Draw(t, "at a head") == 0 {
				head := rapid.Int64Range(0, 2).Draw(t, "head")
				a.Head = &head
			}
			return []store.Append{a}
		}
		commit := func(h *Store, k store.Key) {
			docs, err := h.Load(ctx, []store.Key{k}, store.WithoutViews)
			must(err)
			d := docs[0]
			c := store.Commit{Key: k, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Applied, View: []byte("view")}
			if d.Head > d.Applied {
				c.Applied = rapid.Int64Range(d.Applied, d.Head).Draw(t, "applied")
			}
			switch rapid.IntRange(0, 5).Draw(t, "how") {
			case 0:
				c.Loaded--
			case 1:
				c.Failure = &store.Failure{Seq: c.Applied + 1, Attempts: 1, Error: "no", Delay: time.Hour}
			case 2:
				c.Failure = &store.Failure{Seq: c.Applied + 1, Attempts: 1, Error: "no", Park: true}
			case 3:
				c.Deleted = true
			}
			_, err = h.Commit(ctx, []store.Commit{c})
			must(err)
		}
		step := func(name string, f func()) func(*rapid.T) {
			return func(*rapid.T) {
				f()
				done[name]++
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { remembered += checkMemo(t, s) },
			"append and commit": step("append and commit", func() {
				for range rapid.IntRange(1, 8).Draw(t, "times") {
					if rapid.Bool().Draw(t, "append") {
						_, err := s.Append(ctx, appends())
						must(err)
					} else {
						commit(s, anyKey())
					}
					remembered += checkMemo(t, s)
				}
			}),
			"append elsewhere": step("append elsewhere", func() {
				_, err := other.Append(ctx, appends())
				must(err)
			}),
			"append in Update": step("append in Update", func() {
				fail := rapid.Bool().Draw(t, "fail")
				err := s.Update(ctx, func(ctx context.Context, tx *sql.Tx) error {
					_, err := s.AppendTx(ctx, tx, appends())
					if fail && err == nil {
						err = store.ErrConflict
					}
					return err
				})
				must(err)
			}),
			"commit elsewhere": step("commit elsewhere", func() { commit(other, anyKey()) }),
			"resume": step("resume", func() {
				_, err := s.Resume(ctx, []store.Key{anyKey()})
				must(err)
			}),
			"discard": step("discard", func() {
				must(s.Discard(ctx, store.Discard{Key: anyKey(), Seq: rapid.Int64Range(1, 3).Draw(t, "seq"), By: "me", Why: "it"}))
			}),
			"forget": step("forget", func() { must(s.Forget(ctx, anyKey())) }),
			"pause": step("pause", func() {
				must(s.Pause(ctx, "notes", rapid.Bool().Draw(t, "paused")))
			}),
			"lease": step("lease", func() {
				_, err := s.Lease(ctx, "me", store.LeaseTerms{For: time.Second, Most: time.Minute}, []store.Key{anyKey()}, true)
				must(err)
			}),
			"next version": step("next version", func() {
				version++
				register(s)
				name := fmt.Sprintf("notes@%d", version)
				for more := true; more; {
					var err error
					if more, err = s.Fill(ctx, name); err != nil {
						t.Fatal(err)
					}
				}
			}),
			"commit beside": step("commit beside", func() {
				k := anyKey()
				k.Collection = fmt.Sprintf("notes@%d", version)
				commit(s, k)
			}),
			"switch": step("switch", func() {
				_, err := s.Switch(ctx, fmt.Sprintf("notes@%d", version), store.SwitchTerms{})
				must(err)
			}),
			"rollback": step("rollback", func() { must(s.Rollback(ctx, "notes")) }),
			"a connection that breaks": step("a connection that breaks", func() {
				must(s.alone(ctx, func(*writerConn) error { s.writer.abandon(); return nil }))
			}),
		})
	})
	t.Logf("%d documents were remembered after %v", remembered, done)
	leastRemembered, leastDone := 1000, 5
	if testing.Short() { // a fifth as much is checked
		leastRemembered, leastDone = 50, 1
	}
	if remembered < leastRemembered {
		t.Errorf("only %d documents were remembered in all, want %d", remembered, leastRemembered)
	}
	for _, name := range slices.Sorted(maps.Keys(done)) {
		if done[name] < leastDone {
			t.Errorf("%s was done %d times only, want %d", name, done[name], leastDone)
		}
	}
}

// What is remembered is bounded, and what had no room is read.
func TestMemoIsBounded(t *testing.T) {
	s := fresh(t, &Options{Sync: SyncNormal})
	for i := 0; i < memoDocuments+3000; i += 1000 {
		var many []store.Append
		for j := range 1000 {
			many = append(many, one(fmt.Sprint(i+j), "body")...)
		}
		mustAppend(t, s, many)
	}
	if got := len(s.writer.conn.memo.documents); got != memoDocuments {
		t.Errorf("%d documents are remembered, want %d", got, memoDocuments)
	}
	for i := range 2 * memoCollections {
		mustAppend(t, s, []store.Append{{Key: store.Key{Collection: fmt.Sprint("of", i), ID: "a"}, Entries: []store.Entry{{Kind: "k"}}}})
	}
	if got := len(s.writer.conn.memo.collections); got > memoCollections+1 {
		t.Errorf("%d collections are remembered, want about %d", got, memoCollections)
	}
	for i := range memoDocuments + 3000 {
		if i%100 != 0 {
			continue
		}
		if got := mustAppend(t, s, one(fmt.Sprint(i), "body")).Documents[0].Head; got != 2 {
			t.Fatalf("the head of %d is %d, want 2", i, got)
		}
	}
	checkMemo(t, s)
}
