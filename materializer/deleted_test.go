package materializer_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// foldDeleting is fold, but for the word "delete".
func foldDeleting(s text, op operation) (text, error) {
	if op.Body.Text == "delete" {
		return s, fmt.Errorf("wrapped: %w", materializer.Deleted)
	}
	return fold(s, op)
}

// newDeleting is a rig whose views are not checked at the end: those that were
// deleted in between are not made of all their operations.
func newDeleting(t testing.TB, st store.Backend, cfg materializer.Config, spec textSpec) *rig {
	r := &rig{t: t, st: st}
	var err error
	if r.m, err = materializer.New(st, cfg); err != nil {
		t.Fatal(err)
	}
	if r.texts, err = materializer.Register(r.m, spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.halt() })
	return r
}

func TestDeletedDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDeleting(t, memory.New(nil), materializer.Config{}, specOf(foldDeleting)).start()
		r.append("other", "x")
		token := r.append("a", "x", "y", "delete")
		v, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
		wantErr(t, err, materializer.ErrDeleted)
		if errors.Is(err, materializer.ErrNotFound) || v.Applied != 3 || v.Head != 3 || !v.Deleted || v.State.Words != nil {
			t.Errorf("got %+v, %v, want a deleted document at 3 of 3 without a state", v, err)
		}
		settle() // the run is given back after it is stored
		if doc := r.load("a"); doc.View != nil || !doc.Deleted || doc.Failure != nil {
			t.Errorf("stored: %+v, want a deleted document without view or failure", doc)
		}
		if got := r.m.Stats(); got.Failed != 0 || got.Delayed != 0 {
			t.Errorf("%+v: a deletion is no failure", got)
		}
		var ids []string
		for v, err := range r.texts.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, v.ID)
		}
		if !slices.Equal(ids, []string{"other"}) {
			t.Errorf("All returned %v, want only the other one", ids)
		}
		views, err := r.texts.GetMany(t.Context(), "a", "other")
		if err != nil || !views[0].Deleted || views[1].Deleted {
			t.Errorf("GetMany: %+v, %v, want the first one deleted", views, err)
		}
		v, err = r.texts.Latest(t.Context(), "a")
		wantErr(t, err, materializer.ErrDeleted)
		if v.Head != 3 || !v.Deleted {
			t.Errorf("Latest: %+v, want a deleted document at 3", v)
		}
		if x, err := r.texts.Explain(t.Context(), "a"); err != nil || x.State != materializer.StateDeleted {
			t.Errorf("Explain: %v, %v, want deleted", x.State, err)
		}
	})
}

// A later operation gets the zero state, and brings the document back.
func TestDeletedDocumentComesBack(t *testing.T) {
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprintf("together %v", together), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDeleting(t, memory.New(nil), materializer.Config{}, specOf(foldDeleting))
				if !together {
					r.start()
				}
				r.append("a", "x", "delete")
				settle()
				token := r.append("a", "y", "z")
				if v, err := r.texts.Latest(t.Context(), "a"); err != nil || v.State.String() != "y z" || v.Deleted {
					t.Errorf("Latest: %+v, %v, want y z", v, err)
				}
				if together {
					r.start()
				}
				v, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
				if err != nil || v.State.String() != "y z" || v.Applied != 4 || v.Deleted {
					t.Errorf("got %+v, %v, want y z at 4", v, err)
				}
			})
		})
	}
}

// In slices of one operation, each state between is stored: also that of having
// been deleted.
func TestDeletedInSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newDeleting(t, st, materializer.Config{Bytes: 1}, specOf(foldDeleting))
		r.append("a", "x", "delete", "delete", "y", "delete", "z")
		r.start()
		settle()
		r.wantView("a", "z", 6, 6)
		var deleted []bool
		for _, c := range st.commitsOf("a") {
			deleted = append(deleted, c.Deleted)
		}
		if want := []bool{false, true, true, false, true, false}; !slices.Equal(deleted, want) {
			t.Errorf("deleted after each slice: %v, want %v", deleted, want)
		}
	})
}

// The operation after the deletion fails: the document stays deleted, says that
// it is parked too, and a discarded operation does not bring it back.
func TestFailureBehindADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDeleting(t, memory.New(nil), materializer.Config{}, specOf(foldDeleting)).start()
		token := r.append("a", "x", "delete", "!permanent")
		_, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
		wantErr(t, err, materializer.ErrDeleted)
		wantErr(t, err, materializer.ErrParked)
		r.wantParked("a", 3, 1, errPlanted.Error())
		if err := r.texts.Discard(t.Context(), "a", 3, "me", "it was never meant"); err != nil {
			t.Fatal(err)
		}
		v, err := r.texts.Get(within(t, time.Minute), "a", materializer.AtLeast(token))
		wantErr(t, err, materializer.ErrDeleted)
		if v.Applied != 3 || v.Parked {
			t.Errorf("got %+v, want a deleted document at 3", v)
		}
	})
}

func TestChangesTellOfADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDeleting(t, memory.New(nil), materializer.Config{}, specOf(foldDeleting)).start()
		changes := r.texts.Changes(t.Context(), materializer.Cursor{})
		r.append("a", "x", "delete")
		for v, err := range changes {
			if err != nil || v.ID != "a" || !v.Deleted {
				t.Errorf("got %+v, %v, want a deleted document", v, err)
			}
			break
		}
	})
}
