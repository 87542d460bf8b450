package materializer_test

import (
	"context"
	"database/sql"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// Two materializers over one store hear each other, and so does one that runs
// what is appended to its store directly. No time passes.
func TestMaterializersOverOneStoreHearEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		running := newRig(t, st, materializer.Config{}, spec()).start()
		other := newRig(t, st, materializer.Config{}, spec())
		started := time.Now()
		settle()

		token := other.append("a", "theirs")
		if v, err := running.texts.Get(t.Context(), "a", materializer.AtLeast(token)); err != nil || v.State.String() != "theirs" {
			t.Errorf("the running one reads %v, %v", v.State, err)
		}
		token = running.append("a", "ours")
		if v, err := other.texts.Get(t.Context(), "a", materializer.AtLeast(token)); err != nil || v.State.String() != "theirs ours" {
			t.Errorf("the other one reads %v, %v", v.State, err)
		}
		entry := store.Entry{Body: []byte(`{"Text":"direct"}`)}
		if _, err := st.Append(t.Context(), []store.Append{{Key: key("a"), Entries: []store.Entry{entry}}}); err != nil {
			t.Fatal(err)
		}
		settle()
		if doc := running.load("a"); doc.Dirty() {
			t.Error("what was appended directly is not folded")
		}
		if d := time.Since(started); d != 0 {
			t.Errorf("it took %s", d)
		}
	})
}

func TestOtherMaterializersChangeIsRefused(t *testing.T) {
	st := memory.New(nil)
	a, b := newRig(t, st, materializer.Config{}, spec()), newRig(t, st, materializer.Config{}, spec())
	_, err := a.m.Append(t.Context(), b.texts.Change("a", word{"x"}))
	wantErr(t, err, materializer.ErrInvalid)
	_, err = a.m.Append(t.Context(), materializer.Change{})
	wantErr(t, err, materializer.ErrInvalid)
	if doc := a.load("a"); doc.Head != 0 {
		t.Errorf("head is %d", doc.Head)
	}
}

// Whoever waits in a process that does not run is ended when the store is closed.
func TestStoreClosedUnderWaiters(t *testing.T) {
	for name, open := range map[string]func() store.Backend{
		"memory": func() store.Backend { return memory.New(nil) },
		"sqlite": func() store.Backend { return openSQLite(t) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, open(), materializer.Config{}, spec())
			token := r.append("a", "x")
			ended := make(chan error, 1)
			go func() {
				_, err := r.texts.Get(within(t, time.Minute), "a", materializer.AtLeast(token))
				ended <- err
			}()
			if err := r.st.Close(); err != nil {
				t.Fatal(err)
			}
			wantErr(t, <-ended, materializer.ErrClosed)
		})
	}
}

// Waiting inside of Update would wait for a commit that Update keeps from
// happening.
func TestWaitingInsideOfUpdateIsRefused(t *testing.T) {
	r := newRig(t, openSQLite(t), materializer.Config{}, spec()).start()
	token := r.append("a", "x")
	if err := r.m.Wait(within(t, time.Minute), token); err != nil {
		t.Fatal(err)
	}
	err := r.m.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := r.texts.Get(ctx, "a", materializer.AtLeast(token)); err != nil {
			t.Errorf("reading what is there: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.halt(); err != nil {
		t.Fatal(err)
	}
	token = r.append("a", "y")
	err = r.m.Update(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := r.texts.Get(ctx, "a", materializer.AtLeast(token))
		return err
	})
	wantErr(t, err, materializer.ErrNested)
}

// A document that is resumed while the run that parks it is not yet given back
// runs again at once.
func TestResumedWhileTheParkingRunIsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		var mended atomic.Bool
		r := newRig(t, st, materializer.Config{Workers: 1}, specOf(func(s text, op operation) (text, error) {
			if !mended.Load() {
				return s, materializer.Permanent(errPlanted)
			}
			return plain(s, op)
		})).start()
		settle()
		reached, goOn := st.stopAt(committed)
		r.append("a", "x")
		<-reached
		mended.Store(true)
		if n, err := r.texts.Resume(t.Context(), "a"); err != nil || n != 1 {
			t.Errorf("resumed %d, %v", n, err)
		}
		settle()
		goOn()
		started := time.Now()
		settle()
		if doc := r.load("a"); doc.Dirty() || time.Since(started) != 0 {
			t.Errorf("applied %d of %d", doc.Applied, doc.Head)
		}
	})
}

// What JSON would not keep is refused when it can be seen.
func TestWhatJSONDoesNotKeepIsRefused(t *testing.T) {
	type hidden struct{ n int }
	_ = hidden{}.n
	m, err := materializer.New(memory.New(nil), materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = materializer.Register(m, materializer.Spec[hidden, word]{Name: "states", Version: 1,
		Fold: func(s hidden, _ operation) (hidden, error) { return s, nil }})
	wantErr(t, err, materializer.ErrInvalid)
	_, err = materializer.Register(m, materializer.Spec[text, *hidden]{Name: "operations", Version: 1,
		Fold: func(s text, _ materializer.Operation[*hidden]) (text, error) { return s, nil }})
	wantErr(t, err, materializer.ErrInvalid)
	times, err := materializer.Register(m, materializer.Spec[time.Time, *word]{Name: "times", Version: 1,
		Fold: func(s time.Time, _ materializer.Operation[*word]) (time.Time, error) { return s, nil }})
	if err != nil {
		t.Errorf("a type that marshals itself was refused: %v", err)
	}
	_, err = times.Append(t.Context(), "a", nil)
	wantErr(t, err, materializer.ErrInvalid)
}
