package materializer_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// Among 1,000 documents one whose fold panics at operation 7 of 10: 999 finish,
// the view of the one has 6 operations, it is parked with the stack, also after a
// restart, and Resume with a mended fold brings it to 10.
func TestPoisonAtOperation7Of10AmongAThousandDocuments(t *testing.T) {
	const bad = "d000500"
	path := filepath.Join(t.TempDir(), "app.db")
	ids := numbered("d", 1000)
	others := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == bad })
	ten := numbered("w", 10)
	life := func(f foldFunc, do func(r *rig)) {
		t.Helper()
		st, err := sqlite.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := specOf(f)
		s.Retry = materializer.Retry{Attempts: 3, First: time.Millisecond}
		r := newDeleting(t, st, materializer.Config{}, s)
		do(r)
		if err := r.halt(); err != nil {
			t.Error(err)
		}
		r.wantConsistent()
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
	poisoned := func(s text, op operation) (text, error) {
		if op.Document == bad && op.Seq == 7 {
			panic("planted panic")
		}
		return plain(s, op)
	}
	wantPoisoned := func(r *rig) {
		t.Helper()
		for _, id := range others {
			r.wantView(id, strings.Join(ten, " "), 10, 10)
		}
		r.wantView(bad, strings.Join(ten[:6], " "), 6, 10)
		r.wantParked(bad, 7, 3, "planted panic")
		n := 0
		for p, err := range r.texts.Parked(t.Context()) {
			if n++; err != nil || p.ID != bad || p.Seq != 7 || p.Applied != 6 || p.Head != 10 || !strings.Contains(p.Stack, "poison_test.go") {
				t.Errorf("parked: %+v, %v", p, err)
			}
		}
		if n != 1 {
			t.Errorf("%d documents are parked, want 1", n)
		}
		v, err := r.texts.Get(t.Context(), bad)
		if err != nil || !v.Parked || v.Applied != 6 || v.Head != 10 {
			t.Errorf("got %+v, %v, want the view of 6 of 10", v, err)
		}
	}

	life(poisoned, func(r *rig) {
		for _, id := range ids {
			r.append(id, ten...)
		}
		r.start()
		wantErr(t, r.m.Drain(within(t, time.Minute)), materializer.ErrParked)
		wantPoisoned(r)
	})
	life(poisoned, func(r *rig) {
		r.start()
		if err := r.texts.Drain(within(t, time.Minute), others...); err != nil {
			t.Error(err)
		}
		wantErr(t, r.texts.Drain(within(t, time.Minute), bad), materializer.ErrParked)
		if got := r.m.Stats(); got.Runs != 0 {
			t.Errorf("%d runs after the restart, want none", got.Runs)
		}
		wantPoisoned(r)
	})
	life(plain, func(r *rig) {
		r.start()
		if n, err := r.texts.Resume(t.Context(), bad); n != 1 || err != nil {
			t.Errorf("resumed %d, %v, want 1, nil", n, err)
		}
		if err := r.m.Drain(within(t, time.Minute)); err != nil {
			t.Error(err)
		}
		for _, id := range ids {
			r.wantView(id, strings.Join(ten, " "), 10, 10)
		}
		r.wantClean()
	})
}
