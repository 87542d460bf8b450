package dispatcher

import (
	"slices"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

var (
	a = key("a")
	b = key("b")
	c = key("c")

	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	soon  = epoch.Add(time.Second)
	later = epoch.Add(time.Minute)
)

func key(id string) store.Key { return store.Key{Collection: "notes", ID: id} }

// fixture brings a document into a state and remembers its ticket.
type fixture struct {
	*Table
	t    *testing.T
	held map[store.Key]Ticket
}

func newFixture(t *testing.T, limit int) *fixture {
	return &fixture{Table: newTable(t, limit, limit), t: t, held: make(map[store.Key]Ticket)}
}

// take takes the document that must be the next one.
func (f *fixture) take(want store.Key) {
	f.t.Helper()
	var buf [1]Ticket
	if n, err := f.Take(f.t.Context(), buf[:]); n != 1 || err != nil {
		f.t.Fatalf("Take: %d, %v", n, err)
	}
	if buf[0].Key != want {
		f.t.Fatalf("took %s, want %s", buf[0].Key, want)
	}
	f.held[want] = buf[0]
}

func (f *fixture) done(k store.Key, r Result) {
	f.t.Helper()
	if n := f.Done([]Ticket{f.held[k]}, []Result{r}, nil); n != 1 {
		f.t.Fatalf("Done accepted %d", n)
	}
}

func (f *fixture) reach(k store.Key, s State) {
	f.t.Helper()
	if s == Idle {
		return
	}
	f.Signal(k)
	if s == Queued {
		return
	}
	f.take(k)
	switch s {
	case Requeue:
		f.Signal(k)
	case Delayed:
		f.done(k, Result{Verdict: Delay, Until: soon})
	case Cooling:
		f.done(k, Result{Until: soon})
	}
	if got := f.State(k); got != s {
		f.t.Fatalf("%s is %s, want %s", k, got, s)
	}
}

// TestArrows has a row for each arrow of the diagram at [State], and for each
// event that must not move the document. Before the event document a is in the
// state from, and b is queued (behind a, if a is).
func TestArrows(t *testing.T) {
	signal := func(f *fixture) { f.Signal(a) }
	take := func(f *fixture) { f.take(a) }
	give := func(r Result) func(*fixture) { return func(f *fixture) { f.done(a, r) } }
	delay := func(f *fixture) { f.Delay(a, later) }
	wake := func(now time.Time) func(*fixture) { return func(f *fixture) { f.Wake(now) } }
	wait := Result{Verdict: Delay, Until: later}

	for _, row := range []struct {
		arrow string
		from  State
		event func(*fixture)
		to    State
		queue []string
		want  Counts
	}{
		{"idle, signal", Idle, signal, Queued, []string{"b", "a"}, Counts{Queued: 2, Signals: 2}},
		{"idle, delay of the store", Idle, delay, Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 1}},

		{"queued, signal", Queued, signal, Queued, []string{"a", "b"}, Counts{Queued: 2, Signals: 3, Absorbed: 1}},
		{"queued, delay of the store", Queued, delay, Queued, []string{"a", "b"}, Counts{Queued: 2, Signals: 2}},
		{"queued, take", Queued, take, Running, []string{"b"}, Counts{Queued: 1, Running: 1, Signals: 2, Takes: 1}},

		{"running, signal", Running, signal, Requeue, []string{"b"}, Counts{Queued: 1, Running: 1, Signals: 3, Takes: 1, Absorbed: 1}},
		{"running, delay of the store", Running, delay, Running, []string{"b"}, Counts{Queued: 1, Running: 1, Signals: 2, Takes: 1}},
		{"running, done", Running, give(Result{}), Idle, []string{"b"}, Counts{Queued: 1, Signals: 2, Takes: 1}},
		{"running, again", Running, give(Result{Verdict: Again}), Queued, []string{"b", "a"}, Counts{Queued: 2, Signals: 2, Takes: 1}},
		{"running, delay", Running, give(wait), Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 2, Takes: 1}},
		{"running, done, rest", Running, give(Result{Until: later}), Cooling, []string{"b"}, Counts{Queued: 1, Cooling: 1, Signals: 2, Takes: 1}},
		{"running, again, rest", Running, give(Result{Verdict: Again, Until: later}), Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 2, Takes: 1}},

		{"requeue, signal", Requeue, signal, Requeue, []string{"b"}, Counts{Queued: 1, Running: 1, Signals: 4, Takes: 1, Absorbed: 2}},
		{"requeue, delay of the store", Requeue, delay, Requeue, []string{"b"}, Counts{Queued: 1, Running: 1, Signals: 3, Takes: 1, Absorbed: 1}},
		{"requeue, done", Requeue, give(Result{}), Queued, []string{"b", "a"}, Counts{Queued: 2, Signals: 3, Takes: 1, Absorbed: 1, Requeues: 1}},
		{"requeue, again", Requeue, give(Result{Verdict: Again}), Queued, []string{"b", "a"}, Counts{Queued: 2, Signals: 3, Takes: 1, Absorbed: 1, Requeues: 1}},
		{"requeue, delay", Requeue, give(wait), Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 3, Takes: 1, Absorbed: 1}},
		{"requeue, done, rest", Requeue, give(Result{Until: later}), Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 3, Takes: 1, Absorbed: 1}},
		{"requeue, again, rest", Requeue, give(Result{Verdict: Again, Until: later}), Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 3, Takes: 1, Absorbed: 1}},

		{"delayed, signal", Delayed, signal, Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 3, Takes: 1, Absorbed: 1}},
		{"delayed, delay of the store", Delayed, delay, Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 2, Takes: 1}},
		{"delayed, too early", Delayed, wake(soon.Add(-1)), Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 2, Takes: 1}},
		{"delayed, time is up", Delayed, wake(soon), Queued, []string{"b", "a"}, Counts{Queued: 2, Signals: 2, Takes: 1}},

		{"cooling, signal", Cooling, signal, Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 3, Takes: 1, Absorbed: 1}},
		{"cooling, delay of the store", Cooling, delay, Delayed, []string{"b"}, Counts{Queued: 1, Delayed: 1, Signals: 2, Takes: 1}},
		{"cooling, too early", Cooling, wake(soon.Add(-1)), Cooling, []string{"b"}, Counts{Queued: 1, Cooling: 1, Signals: 2, Takes: 1}},
		{"cooling, time is up", Cooling, wake(soon), Idle, []string{"b"}, Counts{Queued: 1, Signals: 2, Takes: 1}},
	} {
		t.Run(row.arrow, func(t *testing.T) {
			f := newFixture(t, 10)
			f.reach(a, row.from)
			f.Signal(b)
			row.event(f)
			if got := f.State(a); got != row.to {
				t.Errorf("state %s, want %s", got, row.to)
			}
			if got := queued(f.Table); !slices.Equal(got, row.queue) {
				t.Errorf("run queue %v, want %v", got, row.queue)
			}
			if got := f.Counts(); got != row.want {
				t.Errorf("counts\n%+v, want\n%+v", got, row.want)
			}
		})
	}
}

// The run in hand parked the document, and the resume came before it was given
// back: to drop that signal would leave the document to the next sweep.
func TestResumeDuringTheRunThatParks(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Requeue)
	f.done(a, Result{})
	f.take(a)
	f.done(a, Result{})
	if got := f.State(a); got != Idle {
		t.Errorf("a is %s, want idle", got)
	}
}

func TestSignalDoesNotCutADelayShort(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Delayed)
	for range 100 {
		f.Signal(a)
	}
	if next := f.Wake(soon.Add(-1)); !next.Equal(soon) {
		t.Errorf("due at %s, want %s", next, soon)
	}
	if got := queued(f.Table); len(got) != 0 {
		t.Errorf("queued: %v", got)
	}
	if next := f.Wake(soon); !next.IsZero() {
		t.Errorf("still something due at %s", next)
	}
	f.take(a)
}

func TestDelayedDocumentsAreQueuedInTheOrderOfTheirTimes(t *testing.T) {
	f := newFixture(t, 10)
	f.Delay(c, epoch.Add(3*time.Second))
	f.Delay(a, epoch.Add(1*time.Second))
	f.Delay(b, epoch.Add(2*time.Second))
	if next := f.Wake(epoch); !next.Equal(epoch.Add(time.Second)) {
		t.Errorf("next is due at %s", next)
	}
	f.Wake(epoch.Add(time.Hour))
	if got := queued(f.Table); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("queued %v", got)
	}
}

func TestOneIDInTwoCollectionsIsTwoDocuments(t *testing.T) {
	f := newFixture(t, 10)
	other := store.Key{Collection: "tasks", ID: a.ID}
	f.Signal(a)
	f.Signal(other)
	f.take(a)
	f.take(other)
}

func TestSignalAllIsSignalForEachInOrder(t *testing.T) {
	for _, n := range []int{0, 1, 2, 63, 64, 65, 128, 1000} {
		f := newFixture(t, 2000)
		keys, want := keys(n), []string{}
		for _, k := range keys {
			want = append(want, k.ID)
		}
		f.SignalAll(append(keys, keys...))
		if got := queued(f.Table); !slices.Equal(got, want) {
			t.Errorf("of %d keys %d are queued, or in another order", n, len(got))
		}
		if got := f.Counts(); got.Signals != int64(2*n) || got.Absorbed != int64(n) {
			t.Errorf("%d keys, twice each: %+v", n, got)
		}
	}
}

// The poke of the feed: a document that is delayed may be due before all others.
func TestDelayWakesTheFeed(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Running)
	f.done(a, Result{Verdict: Delay, Until: soon})
	select {
	case <-f.Woken():
	default:
		t.Error("the feed was not woken")
	}
}

func TestStateNames(t *testing.T) {
	var got []string
	for s := Idle; s <= Cooling; s++ {
		got = append(got, s.String())
	}
	if want := []string{"idle", "queued", "running", "requeue", "delayed", "cooling"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
