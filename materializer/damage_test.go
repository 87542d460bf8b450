package materializer_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// asynq PR #1140, nats-server #7549: what cannot be read of one document stops
// none of the others, is never folded over, and is named.
func TestAsynq1140_DamageOfOneDocumentStopsNobody(t *testing.T) {
	const documents, bad = 50, "d000020"
	ops := "document = (SELECT id FROM refold_documents WHERE name = '" + bad + "')"
	for _, c := range []struct {
		name, damage string
		folded       bool // whether the documents are folded before the damage
		want         string
		applied      int64
		text         string
	}{
		{"all operations are missing", "DELETE FROM refold_operations WHERE " + ops, false, "operation 1 is missing", 0, ""},
		{"the first is missing", "DELETE FROM refold_operations WHERE seq = 1 AND " + ops, false, "operation 1 is missing", 0, ""},
		{"the second is missing", "DELETE FROM refold_operations WHERE seq = 2 AND " + ops, false, "operation 2 is missing", 1, "one"},
		{"the last is missing", "DELETE FROM refold_operations WHERE seq = 3 AND " + ops, false, "operation 3 is missing", 2, "one two"},
		{"the view is missing", "DELETE FROM refold_views WHERE " + ops, true, "its view is missing", 3, ""},
		{"the view is garbage", "UPDATE refold_views SET body = x'00' WHERE " + ops, true, "decoding the stored view", 3, ""},
		{"an operation is garbage", "UPDATE refold_operations SET body = x'00' WHERE seq = 2 AND " + ops, false, "decoding the operation", 1, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app.db")
			s := spec()
			s.Retry.Attempts = 1
			r := newDamagedRig(t, reopenSQLite(t, path), materializer.Config{Workers: 1}, s)
			ids := numbered("d", documents)
			for _, id := range ids {
				r.append(id, "one", "two", "three")
			}
			if c.folded {
				ctx, stop := context.WithCancel(t.Context())
				other := newDamagedRig(t, r.st, materializer.Config{}, s)
				ended := make(chan error, 1)
				go func() { ended <- other.m.Run(ctx) }()
				if err := other.m.Wait(within(t, time.Minute), other.end()); err != nil {
					t.Fatal(err)
				}
				stop()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					r.append(id, "four")
				}
			}
			damage(t, path, c.damage)
			r.startUnchecked(t)
			err := r.m.Wait(within(t, time.Minute), r.end())
			wantErr(t, err, materializer.ErrParked)
			for _, id := range ids {
				doc := r.load(id)
				if id != bad && (doc.Dirty() || doc.Failure != nil) {
					t.Errorf("%s: applied %d of %d, failure %v", id, doc.Applied, doc.Head, doc.Failure)
				}
			}
			doc := r.load(bad)
			if !doc.Parked() || !strings.Contains(doc.Failure.Error, c.want) || doc.Applied != c.applied {
				t.Errorf("%s: applied %d, failure %+v, want applied %d and %q", bad, doc.Applied, doc.Failure, c.applied, c.want)
			}
			if c.text != "" && r.state(doc).String() != c.text {
				t.Errorf("%s: state %q, want %q", bad, r.state(doc), c.text)
			}
		})
	}
}

// startUnchecked runs the materializer without the checks of a sound store.
func (r *rig) startUnchecked(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// damage runs a statement on a connection of its own.
func damage(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	result, err := db.Exec(statement)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s changed %d rows (%v)", statement, n, err)
	}
}

// A call of the store that fails because of one document of a batch is made for
// each of them the next time, so that the others are done.
func TestStoreErrorOfOneDocumentStopsNobody(t *testing.T) {
	for _, point := range []string{"load", "operations", "commit"} {
		t.Run(point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &unreadable{Backend: memory.New(nil), point: point, id: "d000003"}
				r := newDamagedRig(t, st, materializer.Config{Workers: 1}, spec())
				ids := numbered("d", 10)
				for _, id := range ids {
					r.append(id, "x")
				}
				r.startUnchecked(t)
				time.Sleep(30 * time.Second) // the documents of the batch are tried one by one the next time
				settle()
				for _, id := range ids {
					if doc := loadFrom(t, st.Backend, id); doc.Dirty() != (id == st.id) {
						t.Errorf("%s: applied %d of %d", id, doc.Applied, doc.Head)
					}
				}
				if x, err := r.m.Explain(t.Context(), key(st.id)); point != "load" && (err != nil || x.StoreErrors == 0 || !strings.Contains(x.StoreError, point)) {
					t.Errorf("explained as %v, %v", x, err)
				}
				st.mended.Store(true)
				time.Sleep(2 * time.Minute)
				settle()
				if doc := loadFrom(t, st.Backend, st.id); doc.Dirty() || doc.Failure != nil {
					t.Errorf("%s: applied %d of %d, failure %v", st.id, doc.Applied, doc.Head, doc.Failure)
				}
			})
		})
	}
}

func loadFrom(t *testing.T, st store.Backend, id string) store.Document {
	t.Helper()
	docs, err := st.Load(context.Background(), []store.Key{key(id)}, store.WithoutViews)
	if err != nil {
		t.Fatal(err)
	}
	return docs[0]
}

// unreadable is a store with one document of which something cannot be read or
// written.
type unreadable struct {
	store.Backend
	point, id string
	mended    atomic.Bool
}

func (s *unreadable) fail(point, id string) error {
	if point == s.point && id == s.id && !s.mended.Load() {
		return fmt.Errorf("%s of %s: %w", point, id, errors.ErrUnsupported)
	}
	return nil
}

func (s *unreadable) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	for _, k := range keys {
		if err := s.fail("load", k.ID); err != nil && parts == store.WithViews {
			return nil, err
		}
	}
	return s.Backend.Load(ctx, keys, parts)
}

func (s *unreadable) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	for _, r := range ranges {
		if err := s.fail("operations", r.Key.ID); err != nil {
			return nil, err
		}
	}
	return s.Backend.Operations(ctx, ranges, budget)
}

func (s *unreadable) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	for _, c := range commits {
		if err := s.fail("commit", c.Key.ID); err != nil {
			return nil, err
		}
	}
	return s.Backend.Commit(ctx, commits)
}
