package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// The secret is in all that belongs to the document which is to be forgotten.
const secret = "FORGETME-"

// secretKey is its key.
var secretKey = key(secret + "id")

// fill returns n bytes of a text.
func fill(text string, n int) []byte { return bytes.Repeat([]byte(text), n/len(text)+1)[:n] }

// history appends to many documents, the secret one among them, and folds them,
// so that their rows lie beside each other in pages that are divided and merged.
// add is how operations are appended.
func history(t testing.TB, s *Store, seed uint64, rounds int, add func([]store.Append) error) {
	t.Helper()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(7, seed))
	for i := range rounds {
		k, mark := key(fmt.Sprintf("document-%x", r.IntN(40))), "ordinary-"
		if r.IntN(20) == 0 || i == rounds/2 {
			k, mark = secretKey, secret
		}
		size := r.IntN(400)
		switch r.IntN(12) {
		case 0:
			size = r.IntN(4000)
		case 1:
			size = r.IntN(40_000) // several pages of its own
		}
		entry := store.Entry{
			ID: fmt.Sprint(mark, "operation-", i), Kind: mark + "kind",
			Meta: fill(mark+"meta ", r.IntN(200)), Body: fill(mark+"body ", size),
		}
		if err := add([]store.Append{{Key: k, Entries: []store.Entry{entry}}}); err != nil {
			t.Fatal(err)
		}
		if r.IntN(3) > 0 {
			continue
		}
		docs, err := s.Load(ctx, []store.Key{k}, store.WithoutViews)
		if err != nil {
			t.Fatal(err)
		}
		d := docs[0]
		c := store.Commit{Key: k, Loaded: d.Applied, Epoch: d.Epoch, Applied: d.Head, View: fill(mark+"view ", 2*size)}
		if r.IntN(3) == 0 {
			c.Applied = d.Applied
			c.Failure = &store.Failure{
				Seq: d.Applied + 1, Attempts: 1,
				Error: string(fill(mark+"error ", r.IntN(2000))), Stack: string(fill(mark+"stack ", r.IntN(9000))),
			}
			if r.IntN(3) == 0 {
				discard := store.Discard{Key: k, Seq: d.Head, By: mark + "by", Why: mark + "why"}
				if err := s.Discard(ctx, discard); err != nil && !errors.Is(err, store.ErrInvalid) {
					t.Fatal(err)
				}
			}
		}
		if _, err := s.Commit(ctx, []store.Commit{c}); err != nil {
			t.Fatal(err)
		}
	}
}

// traces counts the secret in the files of a store. They are copied by another
// process, because closing the file here would drop SQLite's locks.
func traces(t testing.TB, s *Store) (n int) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm", ".lock", "-journal"} {
		if _, err := os.Lstat(s.path + suffix); err != nil {
			continue
		}
		name := filepath.Join(t.TempDir(), "copy")
		if out, err := exec.Command("cp", s.path+suffix, name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(content, []byte(secret)) + bytes.Count(content, []byte(secret[1:]))
	}
	return n
}

// mustForget forgets the secret document and looks for what is left of it.
func mustForget(t testing.TB, s *Store) {
	t.Helper()
	if n := traces(t, s); n == 0 {
		t.Fatal("nothing to be forgotten was found")
	}
	begun := time.Now()
	if err := s.Forget(t.Context(), secretKey); err != nil {
		t.Fatal(err)
	}
	t.Logf("forgotten in %s", time.Since(begun))
	if n := traces(t, s); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	if v, err := pragmaOf(s, "integrity_check"); err != nil || v != "ok" {
		t.Errorf("integrity: %v, %v", v, err)
	}
	if _, err := s.Append(t.Context(), []store.Append{{Key: secretKey, Entries: make([]store.Entry, 1)}}); !errors.Is(err, store.ErrForgotten) {
		t.Errorf("append to it: %v", err)
	}
}

func pragmaOf(s *Store, name string) (v driver.Value, err error) {
	err = s.alone(context.Background(), func(c *writerConn) (err error) {
		v, err = c.pragma(name)
		return err
	})
	return v, err
}

func TestNothingOfAForgottenDocumentIsLeft(t *testing.T) {
	seeds, rounds := uint64(6), 1500
	if testing.Short() {
		seeds, rounds = 2, 400
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := fresh(t, &Options{Sync: SyncNormal})
			history(t, s, seed, rounds, func(a []store.Append) error { return second(s.Append(t.Context(), a)) })
			mustForget(t, s)
			s.Close()
			open(t, s.path, nil)
		})
	}
}

// A file above the limit for writing the tables anew, without that limit.
func TestNothingIsLeftInALargeFile(t *testing.T) {
	s := fresh(t, &Options{Sync: SyncNormal, Rewrite: -1})
	appending := func(a []store.Append) error { return second(s.Append(t.Context(), a)) }
	history(t, s, 1, 400, appending)
	for i := range 20 {
		entry := store.Entry{Body: fill("large ", 1<<20)}
		if err := appending([]store.Append{{Key: key(fmt.Sprint("large", i)), Entries: []store.Entry{entry}}}); err != nil {
			t.Fatal(err)
		}
	}
	mustForget(t, s)
	docs, err := s.Load(t.Context(), []store.Key{key("large7")}, store.WithoutViews)
	if err != nil || docs[0].Head != 1 {
		t.Errorf("another document is %+v, %v", docs, err)
	}
}

func TestNothingOfAForgottenDocumentIsLeftInAFileThatWasAdopted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	db := application(t, path, "")
	if _, err := db.Exec("CREATE TABLE app (x); INSERT INTO app VALUES (zeroblob(100000)); DELETE FROM app"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	s := open(t, path, nil)
	if v, err := pragmaOf(s, "auto_vacuum"); err != nil || v != int64(0) {
		t.Fatalf("auto_vacuum %v, %v", v, err)
	}
	history(t, s, 1, 300, func(a []store.Append) error { return second(s.Append(t.Context(), a)) })
	mustForget(t, s)
}

// Rows move when a connection of the application divides a page.
func TestNothingIsLeftOfWhatTheApplicationAppended(t *testing.T) {
	s := fresh(t, nil)
	db := application(t, s.path, "_synchronous=FULL&_txlock=immediate")
	db.SetMaxOpenConns(1)
	history(t, s, 2, 300, func(a []store.Append) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if _, err := s.AppendTx(t.Context(), tx, a); err != nil {
			return err
		}
		return tx.Commit()
	})
	var mode int
	if err := db.QueryRow("PRAGMA secure_delete").Scan(&mode); err != nil || mode != 0 {
		t.Errorf("secure_delete of the application's connection is %d, %v", mode, err)
	}
	mustForget(t, s)
}

// A reader keeps the log from being emptied, but not the document from being
// gone.
func TestForgettingWaitsForAReader(t *testing.T) {
	s := fresh(t, nil)
	history(t, s, 3, 200, func(a []store.Append) error { return second(s.Append(t.Context(), a)) })
	c, err := openConn(dsn(s.path, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.run("BEGIN; SELECT count(*) FROM refold_operations"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- s.Forget(ctx, secretKey) }()
	eventually(t, "the document to be gone", func() bool {
		yes, err := s.Forgotten(t.Context(), secretKey)
		return yes && err == nil
	})
	time.Sleep(100 * time.Millisecond) // by then it waits for the reader, most likely
	cancel(errTooLate)
	err = <-ended
	if !errors.Is(err, store.ErrTraces) || !errors.Is(err, errTooLate) || errors.Is(err, store.ErrBusy) {
		t.Errorf("with a reader: %v", err)
	}
	if d := load(t, s, secretKey.ID); d.Head != 0 {
		t.Errorf("document is %+v", d)
	}
	mustAppend(t, s, one("others go on", "1"))
	go func() {
		time.Sleep(50 * time.Millisecond)
		c.run("COMMIT")
	}()
	mustForget(t, s)
}
