package materializer_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
)

// wantView checks the stored view of a document.
func (r *rig) wantView(id, want string, applied, head int64) {
	r.t.Helper()
	doc := r.load(id)
	if got := r.state(doc).String(); got != want || doc.Applied != applied || doc.Head != head {
		r.t.Errorf("%s: view %q of %d of %d operations, want %q of %d of %d", id, got, doc.Applied, doc.Head, want, applied, head)
	}
}

// wantParked checks the record of a parked document, and returns it.
func (r *rig) wantParked(id string, seq int64, attempts int, text string) store.Failure {
	r.t.Helper()
	f := r.load(id).Failure
	if f == nil || !f.Park {
		r.t.Errorf("%s is not parked, its failure is %+v", id, f)
		return store.Failure{}
	}
	if f.Seq != seq || f.Attempts != attempts || !strings.Contains(f.Error, text) {
		r.t.Errorf("%s is parked at seq %d after %d attempts with %q, want seq %d, %d attempts and %q", id, f.Seq, f.Attempts, f.Error, seq, attempts, text)
	}
	return *f
}

// dirty returns the ids of the runnable documents.
func (r *rig) dirty() (ids []string) {
	r.t.Helper()
	for row, err := range untapped(r.st).Runnable(context.Background(), []string{"texts"}) {
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, row.Key.ID)
	}
	return ids
}

// wantClean checks that nothing is dirty.
func (r *rig) wantClean() {
	r.t.Helper()
	if ids := r.dirty(); len(ids) > 0 {
		r.t.Errorf("%d documents are dirty, want none: %.3q", len(ids), ids)
	}
}

// wantConsistent checks what holds of every store at any time: each view is made
// of the operations up to its applied, each once and in order, and the runnable
// documents are those that are dirty and not parked.
func (r *rig) wantConsistent() {
	r.t.Helper()
	ctx, st := context.Background(), untapped(r.st)
	var runnable []string
	for doc, err := range st.Scan(ctx, "texts", "", store.WithViews) {
		if errors.Is(err, store.ErrClosed) {
			return
		}
		if err != nil {
			r.t.Fatal(err)
		}
		if doc.Dirty() && !doc.Parked() {
			runnable = append(runnable, doc.Key.ID)
		}
		var want text
		for op, err := range store.ReadOperations(ctx, st, doc.Key, 1) {
			if err != nil {
				r.t.Fatal(err)
			}
			if op.Seq > doc.Applied {
				break
			}
			var w word
			json.Unmarshal(op.Body, &w)
			want, _ = plain(want, operation{Seq: op.Seq, Body: w})
		}
		got := r.state(doc)
		if !slices.Equal(got.Words, want.Words) || !slices.Equal(got.Seqs, want.Seqs) {
			r.t.Errorf("view of %v at %d: %.200v, want %.200v", doc.Key, doc.Applied, got, want)
		}
	}
	dirty := r.dirty()
	slices.Sort(dirty)
	if !slices.Equal(dirty, runnable) {
		r.t.Errorf("runnable documents %.5q, want %.5q", dirty, runnable)
	}
}
