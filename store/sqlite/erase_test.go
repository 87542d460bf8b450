package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// count returns the number of rows of a table.
func count(t testing.TB, s *Store, table string) (n int64) {
	t.Helper()
	err := s.read(t.Context(), func(c *conn) error {
		return c.query("SELECT count(*) FROM "+table, &n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// query reads one number.
func (c *conn) query(sql string, n *int64) error {
	rows, err := c.raw.Query(sql, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return err
	}
	*n = integer(row[0])
	return nil
}

// long appends to a document until it has n operations.
func long(t testing.TB, s *Store, id string, n int) {
	t.Helper()
	for ; n > 0; n -= 10_000 {
		entries := make([]store.Entry, min(n, 10_000))
		for i := range entries {
			entries[i].Body = fill(secret, 100)
		}
		mustAppend(t, s, []store.Append{{Key: key(id), Entries: entries}})
	}
}

// While a long document is erased nobody waits for long, and its number is not
// given to another one.
func TestForgettingALongDocumentHoldsNobodyUp(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 40_000
	}
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	long(t, s, secretKey.ID, n)
	ctx, cancel := context.WithCancel(t.Context())
	var waits []time.Duration
	between := 0 // how often an append was stored when a part was erased
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			begun := time.Now()
			mustAppend(t, s, one(fmt.Sprint("new", i), "1"))
			waits = append(waits, time.Since(begun))
			if left := int(count(t, s, "refold_operations")) - 1 - len(waits); left > 0 && left < n {
				between++
			}
		}
	})
	begun := time.Now()
	if err := s.Forget(t.Context(), secretKey); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	cancel()
	all.Wait()
	if len(waits) == 0 {
		t.Fatal("nothing was appended meanwhile")
	}
	slices.Sort(waits)
	t.Logf("%d operations forgotten in %s; %d appends meanwhile, %d of them between two slices, took %s, %s at most", n, took, len(waits), between, waits[len(waits)/2], waits[len(waits)-1])
	if least := 1 + n/sliceRows/50; between < least { // between two slices one that waits has its turn
		t.Errorf("%d appends were stored while a part was erased, want %d at least", between, least)
	}
	if got := count(t, s, "refold_operations"); got != int64(len(waits)+1) {
		t.Errorf("%d operations are left, want those of the others, %d", got, len(waits)+1)
	}
	if got := count(t, s, "refold_documents"); got != int64(len(waits)+1) {
		t.Errorf("%d documents are left, want %d", got, len(waits)+1)
	}
	if n := traces(t, s); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	if free, err := pragmaOf(s, "freelist_count"); err != nil || free != int64(0) {
		t.Errorf("%v pages were not given back, %v", free, err)
	}
}

// A process that ends while it erases leaves the rest to the next one to open
// the file.
func TestErasingGoesOnWhenTheFileIsOpened(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	long(t, s, secretKey.ID, 3*sliceRows)
	mustAppend(t, s, []store.Append{
		{Key: store.Key{Collection: "tasks", ID: "a"}, Entries: make([]store.Entry, 2*sliceRows)},
		{Key: store.Key{Collection: "tasks", ID: "b"}, Entries: make([]store.Entry, 1)},
	})
	hash := hashKey(s.writer.salt, secretKey)
	for _, w := range []work{
		&forgetWork{secretKey, hash}, &eraseWork{name: hex.EncodeToString(hash), only: true},
		&dropWork{"tasks"}, new(dropSliceWork),
	} {
		if err := s.submit(t.Context(), newRequest(w, true, 0)); err != nil {
			t.Fatal(err)
		}
	}
	// Now they are gone for everyone, but half of their rows are there.
	if d := load(t, s, secretKey.ID); d.Head != 0 || d.Applied != 0 {
		t.Errorf("document is %+v", d)
	}
	ranges := []store.Range{{Key: secretKey}, {Key: store.Key{Collection: "tasks", ID: "a"}}}
	if pages, err := s.Operations(t.Context(), ranges, store.Budget{}); err != nil || len(pages[0])+len(pages[1]) != 0 {
		t.Errorf("operations of it: %d and %d, %v", len(pages[0]), len(pages[1]), err)
	}
	if _, err := s.Append(t.Context(), []store.Append{{Key: secretKey, Entries: make([]store.Entry, 1)}}); !errors.Is(err, store.ErrForgotten) {
		t.Errorf("append: %v", err)
	}
	if n := count(t, s, "refold_operations"); n != 1+2*sliceRows+sliceRows+1 {
		t.Fatalf("%d operations", n)
	}
	// A new document must not get the number of one that is being erased.
	mustAppend(t, s, one("new", "1"))
	task := store.Append{Key: store.Key{Collection: "tasks", ID: "c"}, Entries: make([]store.Entry, 1)}
	mustAppend(t, s, []store.Append{task})
	s.Close()

	s = open(t, s.path, nil)
	s.sweeping.Wait()
	if n := count(t, s, "refold_operations"); n != 3 {
		t.Errorf("%d operations are left, want 3", n)
	}
	if n := count(t, s, "refold_documents"); n != 3 {
		t.Errorf("%d documents are left, want 3", n)
	}
	if n := count(t, s, "refold_collections"); n != 2 {
		t.Errorf("%d collections are left, want 2", n)
	}
	if n := traces(t, s); n != 0 {
		t.Errorf("%d traces are left", n)
	}
	if d := load(t, s, "new"); d.Head != 1 {
		t.Errorf("the new document is %+v", d)
	}
}

// Closing does not wait until everything is erased.
func TestCloseInterruptsForgetting(t *testing.T) {
	s := fresh(t, nil)
	long(t, s, secretKey.ID, 20*sliceRows)
	done := make(chan error)
	go func() { done <- s.Forget(context.Background(), secretKey) }()
	eventually(t, "the document to be gone", func() bool {
		yes, err := s.Forgotten(t.Context(), secretKey)
		return yes && err == nil
	})
	s.Close()
	if err := <-done; err != nil && (!errors.Is(err, store.ErrTraces) || !errors.Is(err, store.ErrClosed)) {
		t.Errorf("Forget: %v", err)
	}
	s = open(t, s.path, nil)
	s.sweeping.Wait()
	if err := s.Forget(t.Context(), secretKey); err != nil {
		t.Error(err)
	}
	if n := traces(t, s) + int(count(t, s, "refold_operations")); n != 0 {
		t.Errorf("%d traces and rows are left", n)
	}
}

func TestADropThatIsInterruptedGoesOn(t *testing.T) {
	s := fresh(t, nil)
	long(t, s, "a", 5*sliceRows)
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &dropWork{"notes"}
	if err := s.submit(t.Context(), newRequest(w, true, 0)); err != nil {
		t.Fatal(err)
	}
	cancel(errTooLate)
	err := s.eraseAll(ctx, func() sliceWork { return new(dropSliceWork) })
	if !errors.Is(err, errTooLate) || errors.Is(err, store.ErrBusy) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if err := s.Drop(t.Context(), "unknown"); err != nil {
		t.Error(err)
	}
	if n := count(t, s, "refold_operations"); n != 0 {
		t.Errorf("%d operations are left", n)
	}
}
