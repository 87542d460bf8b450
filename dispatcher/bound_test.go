package dispatcher

import (
	"fmt"
	"testing"
)

func TestFullTableRefusesNewDocumentsAndRereads(t *testing.T) {
	f := newFixture(t, 2)
	f.reach(a, Running)
	f.Signal(b)
	if f.Signal(c) {
		t.Error("a third document fits into a table for two")
	}
	if got := f.State(c); got != Idle {
		t.Errorf("state %s, want idle", got)
	}
	if got := f.Counts().Overflowed; got != 1 {
		t.Errorf("%d overflowed, want 1", got)
	}
	f.done(a, Result{})
	if !f.BeginRead() {
		t.Error("the store is not read again though half of the table is free")
	}
}

func TestFullTableAbsorbsSignalsOfItsDocuments(t *testing.T) {
	f := newFixture(t, 2)
	f.reach(a, Running)
	f.Signal(b)
	if !f.Signal(a) || !f.Signal(b) {
		t.Error("a signal of a document in the table did not fit")
	}
	if f.BeginRead() {
		t.Error("nothing overflowed, and yet the store would be read")
	}
	f.done(a, Result{})
	if got := f.State(a); got != Queued {
		t.Errorf("a is %s in a full table, want queued", got)
	}
}

func TestBeginReadWaitsUntilHalfOfTheTableIsFree(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 10} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			f := newFixture(t, limit)
			for i := range limit {
				f.Signal(key(fmt.Sprint(i)))
			}
			f.Signal(a)
			for i := range limit {
				left := limit - i
				if got, want := f.BeginRead(), left <= limit/2; got != want {
					t.Fatalf("%d of %d in use: BeginRead %v, want %v", left, limit, got, want)
				} else if got {
					return
				}
				drainPoke(f)
				k := key(fmt.Sprint(i))
				f.take(k)
				f.done(k, Result{})
				if got, want := drainPoke(f), left-1 <= limit/2; got != want {
					t.Fatalf("%d of %d in use: the feed is woken: %v, want %v", left-1, limit, got, want)
				}
			}
			if !f.BeginRead() {
				t.Fatal("the table is empty and the store is not read")
			}
		})
	}
}

func TestBeginReadClearsTheMark(t *testing.T) {
	f := newFixture(t, 1)
	f.Reread()
	if !drainPoke(f) {
		t.Error("Reread did not wake the feed")
	}
	if !f.BeginRead() || f.BeginRead() {
		t.Error("want one reading")
	}
	f.Signal(a)
	f.Signal(b) // as if read from the store, and full
	f.take(a)
	f.done(a, Result{})
	if !f.BeginRead() {
		t.Error("what did not fit during a reading is not read again")
	}
}

func TestDelayedDocumentsHaveABoundOfTheirOwn(t *testing.T) {
	f := newFixture(t, 2)
	f.Delay(key("1"), later)
	f.Delay(key("2"), later)
	f.reach(a, Running)
	f.reach(b, Running)
	f.done(a, Result{Verdict: Delay, Until: soon.Add(1)})
	f.done(b, Result{Verdict: Delay, Until: soon})
	f.Delay(c, soon.Add(2))
	if got := f.Counts(); got.Delayed != 2 || got.Running != 0 {
		t.Errorf("counts %+v, want 2 delayed", got)
	}
	if next := f.Wake(epoch); !next.Equal(soon) {
		t.Errorf("next at %s, want when the first that did not fit is due", next)
	}
	if f.BeginRead() {
		t.Error("the store is read before anything is due")
	}
	if next := f.Wake(soon); !next.Equal(later) {
		t.Errorf("next at %s, want %s", next, later)
	}
	if !f.BeginRead() {
		t.Error("the store is not read when one that did not fit is due")
	}
}

func TestDelayedDocumentIsDroppedIfItIsDueInAFullTable(t *testing.T) {
	f := newFixture(t, 2)
	f.Delay(c, soon)
	f.reach(a, Running)
	f.reach(b, Running)
	f.Wake(soon)
	if got := f.State(c); got != Idle {
		t.Errorf("c is %s, want idle", got)
	}
	f.done(a, Result{})
	if !f.BeginRead() {
		t.Error("the store is not read again")
	}
}

func TestBusyTableTakesNoNoticeOfDelayedDocuments(t *testing.T) {
	f := newFixture(t, 2)
	f.Delay(key("1"), later)
	f.Delay(key("2"), later)
	if !f.Signal(a) || !f.Signal(b) {
		t.Error("delayed documents count against the bound")
	}
}

// drainPoke reports whether the feed was woken.
func drainPoke(f *fixture) bool {
	select {
	case <-f.Woken():
		return true
	default:
		return false
	}
}
