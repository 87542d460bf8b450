package dispatcher

import (
	"slices"
	"testing"

	"github.com/refold-go/refold/store"
)

func TestW5_HundredSignalsWhileQueuedAreOneRun(t *testing.T) {
	f := newFixture(t, 10)
	for range 100 {
		f.Signal(a)
	}
	f.take(a)
	f.done(a, Result{})
	if got := f.State(a); got != Idle {
		t.Errorf("a is %s after one run, want idle", got)
	}
	if got := f.Counts(); got.Takes != 1 || got.Absorbed != 99 {
		t.Errorf("counts %+v", got)
	}
}

// An operation that comes while its document is being worked on must be one more
// run: the run in hand may have read the store already.
func TestF281_SignalOfARunningDocumentIsOneMoreRun(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Running)
	for range 100 {
		f.Signal(a)
	}
	f.done(a, Result{})
	f.take(a)
	f.done(a, Result{})
	if got := f.State(a); got != Idle {
		t.Errorf("a is %s after two runs, want idle", got)
	}
	if got := f.Counts(); got.Takes != 2 || got.Requeues != 1 {
		t.Errorf("counts %+v", got)
	}
}

func TestHotDocumentDoesNotStarveTheOthers(t *testing.T) {
	f := newFixture(t, 10)
	f.reach(a, Requeue)
	f.Signal(b)
	f.Signal(c)
	f.done(a, Result{})
	for _, k := range []store.Key{b, c, a} {
		f.take(k)
	}
}

func TestRequeueTellsHowManySignalsItAbsorbed(t *testing.T) {
	f := newFixture(t, 10)
	type round struct {
		key     store.Key
		signals int
	}
	var got []round
	requeued := func(k store.Key, signals int) {
		f.Signal(c) // outside of the lock: it may call the table
		got = append(got, round{k, signals})
	}
	for range 5 {
		f.Signal(a) // of a run that is over they do not count
	}
	f.take(a)
	f.reach(b, Running)
	for range 3 {
		f.Signal(a)
	}
	f.Done([]Ticket{f.held[a], f.held[b]}, []Result{{}, {Verdict: Again}}, requeued)
	if want := []round{{a, 3}}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

func TestDoneMaySettleABatchInDifferentWays(t *testing.T) {
	f := newFixture(t, 10)
	for _, k := range []store.Key{a, b, c} {
		f.reach(k, Running)
	}
	n := f.Done(
		[]Ticket{f.held[a], f.held[b], f.held[c]},
		[]Result{{Verdict: Again}, {Verdict: Delay, Until: later}, {}},
		nil)
	if n != 3 || f.State(a) != Queued || f.State(b) != Delayed || f.State(c) != Idle {
		t.Errorf("%d accepted; a %s, b %s, c %s", n, f.State(a), f.State(b), f.State(c))
	}
}
