package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/refold-go/refold/store"
)

// A memo that is wrong loses nothing: what would be written because of it is refused, and then
// the writer reads again.
func TestMemoThatIsWrong(t *testing.T) {
	commit := func(t *testing.T, s *Store, loaded, applied int64) (store.Outcome, error) {
		d := load(t, s, "a")
		got, err := s.Commit(t.Context(), []store.Commit{{Key: key("a"), Loaded: loaded, Epoch: d.Epoch, Applied: applied, View: []byte("v")}})
		if err != nil {
			return 0, err
		}
		return got[0], nil
	}
	for name, c := range map[string]struct {
		wrong func(*documentRow)
		do    func(t *testing.T, s *Store)
	}{
		"a low head, append": {func(d *documentRow) { d.head-- }, func(t *testing.T, s *Store) {
			if _, err := s.Append(t.Context(), one("a", "3")); err == nil {
				t.Error("appended")
			}
		}},
		"a high head, append": {func(d *documentRow) { d.head++ }, func(t *testing.T, s *Store) {
			if _, err := s.Append(t.Context(), one("a", "3")); err == nil {
				t.Error("appended")
			}
		}},
		"a low head, commit": {func(d *documentRow) { d.head-- }, func(t *testing.T, s *Store) {
			if got, err := commit(t, s, 0, 1); err != nil || got != store.Stale {
				t.Errorf("%v, %v, want a stale one", got, err)
			}
		}},
		"a low head, commit of all": {func(d *documentRow) { d.head-- }, func(t *testing.T, s *Store) {
			if got, err := commit(t, s, 0, 2); err != nil || got != store.Done {
				t.Errorf("%v, %v, want it done", got, err)
			}
		}},
		"another applied, commit": {func(d *documentRow) { d.applied = 1 }, func(t *testing.T, s *Store) {
			if got, err := commit(t, s, 0, 2); err != nil || got != store.Done {
				t.Errorf("%v, %v, want it done", got, err)
			}
		}},
		"another applied, stale commit": {func(d *documentRow) { d.applied = 1 }, func(t *testing.T, s *Store) {
			if got, err := commit(t, s, 1, 2); err != nil || got != store.Stale {
				t.Errorf("%v, %v, want a stale one", got, err)
			}
		}},
		"parked, commit": {func(d *documentRow) { d.parked = true }, func(t *testing.T, s *Store) {
			if got, err := commit(t, s, 0, 2); err != nil || got != store.Done {
				t.Errorf("%v, %v, want it done", got, err)
			}
		}},
		"a low head, append at the head": {func(d *documentRow) { d.head-- }, func(t *testing.T, s *Store) {
			a, head := one("a", "3"), int64(2)
			a[0].Head = &head
			if got := mustAppend(t, s, a); got.Documents[0].Head != 3 {
				t.Errorf("%+v", got)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t, nil)
			mustAppend(t, s, one("a", "1", "2"))
			m := &s.writer.conn.memo
			d := m.documents[documentOf{1, "a"}]
			if d == nil || !m.good {
				t.Fatalf("the document is not remembered: %+v", m)
			}
			c.wrong(d)
			c.do(t, s)
			checkMemo(t, s)
			checkLog(t, s)
			if got := mustAppend(t, s, one("a", "last")).Documents[0]; got.Operations[0].Seq != got.Head || load(t, s, "a").Head != got.Head {
				t.Errorf("appended afterwards: %+v", got)
			}
			checkMemo(t, s)
			checkLog(t, s)
		})
	}
}

// Groups of several works, refused ones among them, statements that fail, and another handle:
// what is remembered stays what the file has.
func TestMemoInGroups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, other := open(t, path, &Options{Sync: SyncNormal}), open(t, path, &Options{Sync: SyncNormal})
	ctx := t.Context()
	allow := func(err error) {
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrIDReused) {
			t.Error(err)
		}
	}
	allow(s.Register(ctx, "notes", 1))
	remembered := 0
	for round := range 40 {
		var all sync.WaitGroup
		for g := range 8 {
			r := rand.New(rand.NewPCG(uint64(round), uint64(g)))
			anyKey := func() store.Key {
				return store.Key{Collection: []string{"notes", "more"}[r.IntN(2)], ID: fmt.Sprint(r.IntN(6))}
			}
			all.Go(func() {
				for range 12 {
					h := s
					if r.IntN(40) == 0 {
						h = other
					}
					switch n := r.IntN(20); {
					case n == 0:
						err := s.submit(ctx, newRequest(workFunc(func(*transaction) error {
							return &statementError{"failing on purpose", errors.New("forced")}
						}), false, 0))
						if err == nil {
							t.Error("a statement that failed was no error")
						}
					case n < 10:
						a := store.Append{Key: anyKey(), Entries: []store.Entry{{Kind: "k", Body: []byte("x")}}}
						if r.IntN(4) == 0 {
							a.Entries[0].ID, a.Entries[0].Body = fmt.Sprint(r.IntN(4)), []byte{byte(r.IntN(2))}
						}
						if r.IntN(4) == 0 {
							a.Head = new(int64)
							*a.Head = r.Int64N(4)
						}
						_, err := h.Append(ctx, []store.Append{a})
						allow(err)
					default:
						docs, err := h.Load(ctx, []store.Key{anyKey()}, store.WithoutViews)
						allow(err)
						d := docs[0]
						c := store.Commit{Key: d.Key, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: []byte("v")}
						if r.IntN(10) == 0 {
							c.Applied += 100
						}
						_, err = h.Commit(ctx, []store.Commit{c})
						allow(err)
					}
				}
			})
		}
		all.Wait()
		remembered += checkMemo(t, s)
		checkMemo(t, other)
		checkLog(t, s)
	}
	if remembered < 40 {
		t.Errorf("only %d documents were remembered", remembered)
	}
}
