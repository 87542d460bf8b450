package materializer_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// verify returns the differences of all documents, by their text.
func (r *rig) verify(options materializer.VerifyOptions) (materializer.Verified, []string) {
	r.t.Helper()
	v, err := r.texts.Verify(context.Background(), options)
	if err != nil {
		r.t.Fatal(err)
	}
	var all []string
	for _, d := range v.Differences {
		all = append(all, d.String())
	}
	if int64(len(all)) != v.Different {
		r.t.Errorf("%d differences for %d documents", len(all), v.Different)
	}
	return v, all
}

func (r *rig) wantDifferences(want ...string) {
	r.t.Helper()
	if _, got := r.verify(materializer.VerifyOptions{}); !slices.Equal(got, want) {
		r.t.Errorf("differences\n%q, want\n%q", got, want)
	}
}

func TestVerifyFindsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDeleting(t, memory.New(nil), materializer.Config{}, specOf(foldDeleting)).start()
		for i, id := range numbered("d", 50) {
			r.append(id, numbered("w", i+1)...)
		}
		r.append("deleted", "x", "delete")
		r.append("back", "x", "delete", "y")
		r.append("parked", "x", "!permanent", "y")
		settle()
		r.halt()
		r.append("behind", "x")
		r.append("d000003", "x")
		v, _ := r.verify(materializer.VerifyOptions{})
		if want := int64(50*51/2 + 2 + 3 + 3 + 1 + 1); v.Different != 0 || v.Documents != 54 || v.Operations != want {
			t.Errorf("%+v, want 54 documents, %d operations and no difference", v, want)
		}
	})
}

func TestVerifySamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		for _, id := range numbered("d", 400) {
			r.append(id, "x")
		}
		settle()
		count := func(o materializer.VerifyOptions) int64 {
			v, _ := r.verify(o)
			return v.Documents
		}
		if n := count(materializer.VerifyOptions{Count: 7}); n != 7 {
			t.Errorf("%d documents for a count of 7", n)
		}
		if n := count(materializer.VerifyOptions{Count: 1000}); n != 400 {
			t.Errorf("%d documents for a count of 1,000, want 400", n)
		}
		n := count(materializer.VerifyOptions{Fraction: 0.25, Seed: 3})
		if n < 50 || n > 150 || n != count(materializer.VerifyOptions{Fraction: 0.25, Seed: 3}) {
			t.Errorf("%d documents for a quarter of 400, want some 100, and the same again", n)
		}
		if n := count(materializer.VerifyOptions{Fraction: 0.25, Count: 9}); n != 9 {
			t.Errorf("%d documents for 9 of a quarter", n)
		}
		if n := count(materializer.VerifyOptions{IDs: []string{"d000001", "none"}}); n != 2 {
			t.Errorf("%d documents for two names", n)
		}
		for _, o := range []materializer.VerifyOptions{{Fraction: -1}, {Fraction: 2}, {Count: -1}} {
			_, err := r.texts.Verify(t.Context(), o)
			wantErr(t, err, materializer.ErrInvalid)
		}
		_, err := r.texts.Verify(t.Context(), materializer.VerifyOptions{IDs: []string{""}})
		wantErr(t, err, materializer.ErrInvalid)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errPlanted)
		_, err = r.texts.Verify(ctx, materializer.VerifyOptions{})
		if err == nil {
			t.Error("Verify went on when its context had ended")
		}
	})
}

// A fold that is not pure from its third operation on: it is found there.
func TestVerifyFindsAnImpureFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		r := newDeleting(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			if op.Body.Text == "impure" {
				op.Body.Text = fmt.Sprint(calls.Add(1))
			}
			return plain(s, op)
		})).start()
		r.append("fine", "x", "y")
		r.append("a", "x", "y", "impure", "z", "z")
		settle()
		r.wantDifferences("a: impure fold at seq 3 of 5")
	})
}

// One that fails where it did not, or only sometimes.
func TestVerifyFindsAFailingFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := false
		r := newDeleting(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			if broken && op.Body.Text == "y" {
				panic("planted")
			}
			return plain(s, op)
		})).start()
		r.append("a", "x", "y", "z")
		settle()
		broken = true
		r.wantDifferences("a: failing fold at seq 2 of 3: panic: planted")
	})
}

// damage changes what SQLite has of a document.
func (r *rig) damage(id, statement string, args ...any) {
	r.t.Helper()
	err := r.m.Update(context.Background(), func(ctx context.Context, tx *sql.Tx) error {
		args = append(args, id)
		result, err := tx.ExecContext(ctx, statement+" document = (SELECT id FROM refold_documents WHERE name = ?)", args...)
		if err != nil {
			return err
		}
		if n, _ := result.RowsAffected(); n != 1 {
			return fmt.Errorf("%d rows of %s, want 1", n, id)
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// Damage to the file: a view of something else, one byte of a view, a view that
// lags behind what it says, and operations that are gone, within and behind what
// the view contains.
func TestVerifyFindsDamage(t *testing.T) {
	r := newDeleting(t, openSQLite(t), materializer.Config{}, spec()).start()
	for _, id := range []string{"behind", "byte", "damaged", "fine", "lost", "lost first", "lost last", "none"} {
		r.append(id, "x", "y", "z")
	}
	if err := r.m.Drain(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	r.halt()
	r.append("later", "x", "y", "z")

	const view, operation = "UPDATE refold_views SET body = CAST(? AS BLOB) WHERE", "DELETE FROM refold_operations WHERE seq = ? AND"
	r.damage("behind", view, `{"Words":["x"],"Seqs":[1]}`)
	r.damage("byte", view, `{"Words":["x","y","{"],"Seqs":[1,2,3]}`)
	r.damage("damaged", view, "garbage")
	r.damage("none", view, `{"Words":null,"Seqs":null}`)
	r.damage("lost first", operation, 1)
	r.damage("lost", operation, 2)
	r.damage("lost last", operation, 3)
	r.damage("later", operation, 2)
	r.wantDifferences(
		"behind: view of an earlier operation at seq 2 of 3",
		"byte: damaged view at seq 3 of 3",
		"damaged: damaged view at seq 3 of 3",
		"later: lost operation at seq 2 of 0",
		"lost: lost operation at seq 2 of 3",
		"lost first: lost operation at seq 1 of 3",
		"lost last: lost operation at seq 3 of 3",
		"none: view of an earlier operation at seq 1 of 3",
	)
	v, got := r.verify(materializer.VerifyOptions{IDs: []string{"fine"}})
	if v.Different != 0 {
		t.Errorf("differences %q of one that is fine", got)
	}
	v, err := r.texts.Verify(t.Context(), materializer.VerifyOptions{Most: 2})
	if err != nil || v.Different != 8 || len(v.Differences) != 2 {
		t.Errorf("%d different, %d of them reported, %v, want 8 and 2", v.Different, len(v.Differences), err)
	}
}
