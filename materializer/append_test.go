package materializer_test

import (
	"database/sql"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// One append over two collections is all or none, and says where all went.
func TestAppendOverTwoCollections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		tallies := registerTally(t, r.m)
		r.start()
		appended, err := r.m.Append(t.Context(),
			r.texts.Change("a", word{"x"}, word{"y"}),
			tallies.Change("a", struct{}{}),
			r.texts.Change("b", word{"z"}).ExpectHead(0))
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%+v", appended.Documents)
		want := fmt.Sprintf("%+v", []store.AppendedDocument{
			{Head: 2, Operations: []store.Placed{{Seq: 1, Position: 1}, {Seq: 2, Position: 2}}},
			{Head: 1, Operations: []store.Placed{{Seq: 1, Position: 3}}},
			{Head: 1, Operations: []store.Placed{{Seq: 1, Position: 4}}},
		})
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err := r.m.Wait(t.Context(), appended.Token); err != nil {
			t.Error(err)
		}
		r.wantView("a", "x y", 2, 2)
		r.wantView("b", "z", 1, 1)
		if v, err := tallies.Get(t.Context(), "a"); err != nil || v.State != 1 {
			t.Errorf("got %+v, %v, want 1", v, err)
		}

		before := r.end()
		_, err = r.m.Append(t.Context(), r.texts.Change("a", word{"lost"}), tallies.Change("a", struct{}{}).ExpectHead(0))
		wantErr(t, err, materializer.ErrConflict)
		settle()
		r.wantView("a", "x y", 2, 2)
		if r.end() != before {
			t.Errorf("the log ends at %v, want %v", r.end(), before)
		}
	})
}

// What is said of an operation reaches the fold as it was given.
func TestFoldGetsOperationsAsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1}, specOf(func(s text, op operation) (text, error) {
			got = append(got, fmt.Sprintf("%+v", op))
			return fold(s, op)
		}))
		now := time.Now().UTC().Round(0)
		when := time.Date(1969, 2, 3, 4, 5, 6, 789, time.FixedZone("", -7200))
		meta := []byte{0, 1}
		change := r.texts.ChangeWith("a",
			materializer.NewOperation[word]{ID: "i", Time: when, Meta: meta, Body: word{"x"}},
			materializer.NewOperation[word]{Body: word{"y"}})
		if _, err := r.m.Append(t.Context(), change); err != nil {
			t.Fatal(err)
		}
		meta[0] = 9 // the append has its own copy by now
		time.Sleep(time.Hour)
		r.start()
		settle()
		want := []string{
			fmt.Sprintf("%+v", operation{Document: "a", Seq: 1, ID: "i", Meta: []byte{0, 1}, Time: when.UTC(), Body: word{"x"}}),
			fmt.Sprintf("%+v", operation{Document: "a", Seq: 2, Time: now, Body: word{"y"}}),
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// An id makes appending twice harmless, also where the head is expected.
func TestAppendTwiceWithIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		change := r.texts.ChangeWith("a",
			materializer.NewOperation[word]{ID: "1", Body: word{"x"}},
			materializer.NewOperation[word]{ID: "2", Body: word{"y"}}).ExpectHead(0)
		first, err := r.m.Append(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		settle()
		r.append("a", "z")
		again, err := r.m.Append(t.Context(), change)
		if err != nil || again.Token != first.Token || again.Documents[0].Head != 3 {
			t.Errorf("got %+v, %v, want the first token %v and head 3", again, err, first.Token)
		}
		for i, op := range again.Documents[0].Operations {
			if was := first.Documents[0].Operations[i]; !op.Duplicate || op.Seq != was.Seq || op.Position != was.Position {
				t.Errorf("operation %d: got %+v, want %+v as a duplicate", i, op, was)
			}
		}
		settle()
		r.wantView("a", "x y z", 3, 3)
	})
}

// A Change is a value: adding the condition to one does not change it.
func TestExpectHeadMakesAnotherChange(t *testing.T) {
	r := newRig(t, memory.New(nil), materializer.Config{}, spec())
	r.append("a", "x")
	change := r.texts.Change("a", word{"y"})
	_, err := r.m.Append(t.Context(), change.ExpectHead(7))
	wantErr(t, err, materializer.ErrConflict)
	if _, err := r.m.Append(t.Context(), change); err != nil {
		t.Errorf("without the condition: %v, want nil", err)
	}
}

func TestAppendToAParkedDocumentSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.append("a", "!permanent")
		settle()
		signals := r.m.Stats().Signals
		appended, err := r.m.Append(t.Context(), r.texts.Change("a", word{"x"}), r.texts.Change("b", word{"x"}))
		if err != nil || !appended.Documents[0].Parked || appended.Documents[1].Parked {
			t.Errorf("got %+v, %v, want a parked and b not", appended, err)
		}
		settle()
		if got := r.m.Stats().Signals - signals; got != 1 {
			t.Errorf("%d signals, want one, for b", got)
		}
	})
}

func TestTransactionsNeedAStoreThatHasThem(t *testing.T) {
	r := newRig(t, memory.New(nil), materializer.Config{}, spec())
	err := r.m.Update(t.Context(), nil)
	wantErr(t, err, materializer.ErrUnsupported)
	_, err = r.m.AppendTx(t.Context(), new(sql.Tx), r.texts.Change("a", word{"x"}))
	wantErr(t, err, materializer.ErrUnsupported)
}
