package dispatcher

import (
	"testing"
	"time"
)

// A signal in the rest waits until the rest is over, and not longer.
func TestCoolingDocumentRunsWhenItsRestIsOver(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Cooling)
	for range 100 {
		f.Signal(a)
	}
	if next := f.Wake(soon.Add(-1)); !next.Equal(soon) {
		t.Errorf("due at %s, want %s", next, soon)
	}
	if got := queued(f.Table); len(got) != 0 {
		t.Errorf("queued: %v", got)
	}
	f.Wake(soon)
	f.take(a)
}

// A clean document for which there is no room is forgotten: its next signal
// queues it at once. A dirty one is read from the store when its rest is over.
func TestNoRoomForADocumentThatRests(t *testing.T) {
	f := newFixture(t, 1)
	f.reach(a, Cooling)
	f.reach(b, Running)
	f.done(b, Result{Until: later})
	if got := f.State(b); got != Idle {
		t.Errorf("b is %s, want idle", got)
	}
	if !f.Complete() {
		t.Error("a clean document is waited for")
	}
	f.Signal(b)
	f.take(b)
	f.Signal(b)
	f.done(b, Result{Until: soon.Add(time.Second)})
	if next := f.Wake(soon); !next.Equal(soon.Add(time.Second)) {
		t.Errorf("next at %s, want when b may run", next)
	}
	if f.Complete() || f.BeginRead() {
		t.Error("want a reading that is due later")
	}
	f.Wake(soon.Add(time.Second))
	if !f.BeginRead() {
		t.Error("the signal is lost")
	}
	f.EndRead()
}

func TestDue(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Cooling)
	f.Delay(b, later)
	f.Signal(c)
	if got := f.Due(a); !got.Equal(soon) {
		t.Errorf("a is due at %s, want %s", got, soon)
	}
	if got := f.Due(b); !got.Equal(later) {
		t.Errorf("b is due at %s, want %s", got, later)
	}
	if got := f.Due(c); !got.IsZero() {
		t.Errorf("c is due at %s, want never", got)
	}
}
