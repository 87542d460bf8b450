package materializer_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
)

// An append in a transaction of the application that is held open for as long as it
// likes is there afterwards, and gets into the view: 1,006 of 1,006.
func TestF7_SlowAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	cfg := materializer.Config{Shared: true, Lease: time.Second}
	slow := newRig(t, reopenSQLite(t, path), cfg, spec())
	a := newRig(t, reopenSQLite(t, path), cfg, spec()).start()
	b := newRig(t, reopenSQLite(t, path), cfg, spec()).start()
	open, goOn := make(chan struct{}), make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		err := slow.m.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := slow.m.AppendTx(ctx, tx, slow.texts.Change("d", words(numbered("slow", 6))...))
			close(open)
			<-goOn
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-open
	for _, text := range numbered("w", 1000) { // they wait for the transaction
		g.Go(func() {
			if _, err := a.texts.Append(t.Context(), "d", word{text}); err != nil {
				t.Error(err)
			}
		})
	}
	if doc := b.load("d"); doc.Head != 0 {
		t.Errorf("head is %d before the transaction has ended", doc.Head)
	}
	close(goOn)
	g.Wait()
	if err := b.texts.Drain(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	doc := b.load("d")
	if n := len(b.state(doc).Words); n != 1006 || doc.Applied != 1006 {
		t.Errorf("%d words, applied %d", n, doc.Applied)
	}
}

// Two that share a file wake each other's readers: what one appends the other may
// fold, and the first one sees.
func TestSharersOfAFileWakeEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	cfg := materializer.Config{Shared: true}
	rigs := []*rig{
		newRig(t, reopenSQLite(t, path), cfg, spec()).start(),
		newRig(t, reopenSQLite(t, path), cfg, spec()).start(),
	}
	for n := range 40 {
		token := rigs[n%2].append("d", "x")
		v, err := rigs[(n+1)%2].texts.Get(within(t, time.Minute), "d", materializer.AtLeast(token))
		if err != nil || v.Applied < int64(n+1) {
			t.Fatalf("read %d: applied %d, %v", n, v.Applied, err)
		}
	}
	for _, r := range rigs {
		if s := r.m.Stats(); s.Lost+s.LeftBehind != 0 {
			t.Errorf("%+v", s)
		}
	}
}
