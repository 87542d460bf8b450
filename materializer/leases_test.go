package materializer_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// aLease is how long leases last here, and pastLease after how long others have taken
// over, and are done.
const (
	aLease    = 10 * time.Second
	pastLease = aLease + 2*time.Second
)

// shared makes a rig that shares the store.
func shared(t testing.TB, st store.Backend, f foldFunc) *rig {
	t.Helper()
	return newRig(t, st, materializer.Config{Shared: true, Workers: 2, Grace: time.Second}, specOf(f))
}

// leaseFor takes a document as somebody else would, with what was left behind or not.
func leaseFor(t testing.TB, st store.Backend, holder, id string, d time.Duration, over bool) store.Leased {
	t.Helper()
	terms := store.LeaseTerms{For: d, Most: store.MaxLease}
	got, err := untapped(st).Lease(context.Background(), holder, terms, []store.Key{key(id)}, over)
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}

// An expired holder's failing run frees nobody's lease: the new holder keeps it, and
// a third one stays out.
func TestF1_ExpiredHoldersErrorPathFreesNobodysLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		stalled, working := newHold(), newHold()
		a := shared(t, st, func(s text, op operation) (text, error) {
			if s, err := stalled.fold(s, op); op.Body.Text != "hold" || err != nil {
				return s, err
			}
			return s, errPlanted
		}).start()
		a.append("d", "hold")
		<-stalled.reached
		first := a.load("d")
		b := shared(t, st, working.fold).start()
		<-working.reached // within the lease, or the test does not end
		second := a.load("d")
		if second.Epoch <= first.Epoch || second.Lease.Holder == first.Lease.Holder || second.Lease.LeftBehind() {
			t.Errorf("B has %+v with epoch %d, after %+v with %d", second.Lease, second.Epoch, first.Lease, first.Epoch)
		}
		close(stalled.goOn)
		settle()
		if now := a.load("d"); now.Lease.Holder != second.Lease.Holder || now.Epoch != second.Epoch || now.Failure != nil && now.Failure.Error == errPlanted.Error() {
			t.Errorf("after A has failed the document is %+v", now)
		}
		if got := leaseFor(t, st, "c", "d", aLease, true); got.Why != store.Elsewhere {
			t.Errorf("C got %+v", got)
		}
		if s := a.m.Stats(); s.Lost != 1 || s.Failed != 0 {
			t.Errorf("A: %+v", s)
		}
		close(working.goOn)
		time.Sleep(pastLease)
		settle()
		a.wantView("d", "hold", 1, 1)
		if s := b.m.Stats(); s.LeftBehind != 1 {
			t.Errorf("B: %+v", s)
		}
	})
}

// A holder that stalls between whatever it has checked and its write is refused by
// the write itself.
func TestF2_StalledHoldersCommitIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		tapped := newTap(st)
		reached, goOn := tapped.stopAt(atCommit)
		ends := new(lastEnd)
		a := newRig(t, tapped, materializer.Config{Shared: true, Tracer: ends}, spec()).start()
		a.append("d", "x")
		<-reached
		b := shared(t, st, fold).start()
		time.Sleep(pastLease)
		settle()
		b.wantView("d", "x", 1, 1)
		b.append("d", "y")
		time.Sleep(2 * time.Second)
		settle()
		goOn()
		settle()
		b.wantView("d", "x y", 2, 2)
		if s := a.m.Stats(); s.Lost != 1 || s.Stale != 1 || s.Runs != 0 {
			t.Errorf("A: %+v", s)
		}
		run := ends.of(materializer.OutcomeStale)
		wantErr(t, run.Err, materializer.ErrLeaseLost)
		if v, err := b.texts.Get(t.Context(), "d"); err != nil || v.Epoch <= run.Epoch || run.Epoch == 0 {
			t.Errorf("the view has epoch %d, the refused run had %d, %v", v.Epoch, run.Epoch, err)
		}
	})
}

// lastEnd is a tracer that keeps the last end of each kind.
type lastEnd struct {
	mu   sync.Mutex // guards the following field
	ends map[materializer.RunOutcome]materializer.RunEnd
}

func (l *lastEnd) RunStart(ctx context.Context, _ materializer.RunStart) context.Context { return ctx }

func (l *lastEnd) RunEnd(_ context.Context, end materializer.RunEnd) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		l.ends = make(map[materializer.RunOutcome]materializer.RunEnd)
	}
	l.ends[end.Outcome] = end
}

func (l *lastEnd) of(outcome materializer.RunOutcome) materializer.RunEnd {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[outcome]
}

// Whatever write of a run stalls until another one has taken over and gone on, the
// view is never older afterwards, and everything gets into it.
func TestF3_NothingIsUnconditional(t *testing.T) {
	for _, point := range []string{atLease, leased, atLoad, loaded, atOperations, operations, atCommit, committed} {
		t.Run(point, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := memory.New(nil)
				tapped := newTap(st)
				reached, goOn := tapped.stopAt(point)
				a := shared(t, tapped, fold)
				a.append("d", "x", "y")
				a.start()
				<-reached
				b := shared(t, st, fold).start()
				time.Sleep(pastLease)
				b.append("d", "z")
				time.Sleep(pastLease)
				settle()
				before := b.load("d")
				b.wantView("d", "x y z", 3, 3)
				goOn()
				time.Sleep(pastLease)
				settle()
				if now := b.load("d"); now.Applied < before.Applied || now.Epoch < before.Epoch || string(now.View) != string(before.View) {
					t.Errorf("it was %+v and is %+v", before, now)
				}
				b.append("d", "w")
				time.Sleep(pastLease)
				settle()
				b.wantView("d", "x y z w", 4, 4)
			})
		})
	}
}

// An hour passes at once for a holder that lives: its result is refused, and the end
// is right. How a clock that is set back is taken is tested with the store.
func TestF4_ClocksJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		h := newHold()
		a := shared(t, st, h.fold).start()
		a.append("d", "hold", "x")
		<-h.reached
		time.Sleep(time.Hour)
		b := shared(t, st, fold).start()
		time.Sleep(pastLease)
		settle()
		b.wantView("d", "hold x", 2, 2)
		close(h.goOn)
		settle()
		if s := a.m.Stats(); s.Runs != 0 || s.Lost == 0 {
			t.Errorf("A: %+v", s)
		}
		b.append("d", "y")
		time.Sleep(pastLease)
		settle()
		b.wantView("d", "hold x y", 3, 3)
	})
}

// A process that is killed in the middle of a long document loses the slice in hand.
func TestF5_KilledAfterSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		tapped := newTap(st)
		cfg := materializer.Config{Shared: true, Workers: 1, Bytes: 4 << 10}
		a := newRig(t, tapped, cfg, spec())
		texts := numbered("w", 500)
		a.append("d", texts...)
		var commits atomic.Int64
		tapped.onPoint(func(point string) error {
			if point == atCommit && commits.Add(1) == 4 {
				return tapped.kill()
			}
			return nil
		})
		a.start()
		settle()
		stored := a.load("d").Applied
		if stored == 0 || stored == 500 {
			t.Fatalf("%d of 500 are stored", stored)
		}
		var folded atomic.Int64
		b := newRig(t, st, cfg, specOf(func(s text, op operation) (text, error) {
			folded.Add(1)
			return fold(s, op)
		})).start()
		time.Sleep(pastLease)
		settle()
		b.wantView("d", strings.Join(texts, " "), 500, 500)
		if n := folded.Load(); n != 500-stored {
			t.Errorf("B folded %d, A had stored %d", n, stored)
		}
	})
}

// An append that stalls for hours is before or behind: when it is there, it is dirty
// and gets into the view, whoever went on meanwhile.
func TestF6_StalledAppendIsAggregated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		tapped := newTap(st)
		slow := shared(t, tapped, fold)
		b := shared(t, st, fold).start()
		reached, goOn := tapped.stopAt(atAppend)
		done := make(chan materializer.Token)
		go func() {
			token, err := slow.texts.Append(t.Context(), "d", word{"late"})
			if err != nil {
				t.Error(err)
			}
			done <- token
		}()
		<-reached
		b.append("d", numbered("w", 1000)...)
		time.Sleep(3 * time.Hour)
		if doc := b.load("d"); doc.Applied != 1000 || doc.Head != 1000 {
			t.Errorf("before it: %d of %d", doc.Applied, doc.Head)
		}
		goOn()
		if v, err := b.texts.Get(within(t, time.Minute), "d", materializer.AtLeast(<-done)); err != nil || v.Applied != 1001 {
			t.Errorf("behind it: %d, %v", v.Applied, err)
		}
	})
}

// The time of an operation decides nothing: neither one an hour ago nor one to come.
func TestF8_AppendersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		a, b := shared(t, st, fold).start(), shared(t, st, fold).start()
		for i, off := range []time.Duration{0, -time.Hour, time.Hour, -24 * time.Hour} {
			change := materializer.NewOperation[word]{Time: time.Now().Add(off), Body: word{string(rune('a' + i))}}
			if _, err := a.m.Append(t.Context(), a.texts.ChangeWith("d", change)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		settle()
		b.wantView("d", "a b c d", 4, 4)
	})
}

// A document that is forgotten while somebody has it does not come back.
func TestF20_ForgetDuringLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		h := newHold()
		a, b := shared(t, st, h.fold).start(), shared(t, st, fold).start()
		b.halt()
		a.append("d", "hold")
		<-h.reached
		if err := a.texts.Forget(t.Context(), "d"); err != nil {
			t.Fatal(err)
		}
		close(h.goOn)
		time.Sleep(pastLease)
		settle()
		if doc := a.load("d"); doc.Head != 0 {
			t.Errorf("it is back: %+v", doc)
		}
		if s := a.m.Stats(); s.Lost != 1 || s.Running+s.Queued+s.Delayed != 0 {
			t.Errorf("A: %+v", s)
		}
	})
}

// A document that brings down each process which folds it is parked, attempts counted
// over all of them, and the others of its batch are not.
func TestF22_KillerParksAcrossProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		forever := make(chan struct{})
		t.Cleanup(func() { close(forever) })
		ids := numbered("d", 40)
		process := func() (*rig, *tap) {
			tapped := newTap(st)
			s := specOf(func(s text, op operation) (text, error) {
				if op.Body.Text == "!die" {
					tapped.kill()
					<-forever
				}
				return fold(s, op)
			})
			s.Retry.Attempts = 3
			return newRig(t, tapped, materializer.Config{Shared: true, Workers: 1, Grace: -1}, s), tapped
		}
		r, tapped := process()
		for i, id := range ids {
			if i == 7 {
				r.append("killer", "good", "!die", "after")
			}
			r.append(id, "x")
		}
		died := 0
		for range 10 {
			r.start()
			time.Sleep(3 * pastLease)
			settle()
			r.halt()
			if !tapped.isDead() {
				break
			}
			died++
			r, tapped = process()
		}
		r.wantParked("killer", 1, 3, "the process ended")
		if died < 3 || died > 4 {
			t.Errorf("%d processes died, want 3, or one more that had it in its pool", died)
		}
		for _, id := range ids {
			r.wantView(id, "x", 1, 1)
		}
	})
}

// What a dead process had is had by others within the lease and a second.
func TestDeadProcessFreesWithinLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		tapped := newTap(st)
		tapped.on(atCommit, tapped.kill)
		a, b := shared(t, tapped, fold), shared(t, st, fold)
		ids := numbered("d", 20)
		for _, id := range ids {
			a.append(id, "x")
		}
		a.start()
		settle()
		died := time.Now()
		b.start()
		if err := b.texts.Drain(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(died); d > aLease+time.Second {
			t.Errorf("it took %s", d)
		}
		if n := b.m.Stats().LeftBehind; n == 0 {
			t.Error("nothing was left behind")
		}
		b.wantClean()
	})
}

// Who stops cleanly frees everything at once, and others take it within a second.
func TestCleanStopFreesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		h := newHold()
		a := newRig(t, st, materializer.Config{Shared: true, Workers: 1, Batch: 8}, specOf(h.fold))
		a.append("warm", "hold")
		a.start()
		<-h.reached
		a.append("first", "x", "hold")
		for _, id := range numbered("d", 8) {
			a.append(id, "x")
		}
		settle() // so that several are taken together
		h.goOn <- struct{}{}
		<-h.reached
		b := shared(t, st, fold).start()
		time.Sleep(100 * time.Millisecond)
		if n := len(b.dirty()); n < 2 {
			t.Fatalf("%d are dirty, want what A has", n)
		}
		stopped := make(chan error)
		go func() { stopped <- a.halt() }()
		settle()
		close(h.goOn)
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		for row, err := range st.Runnable(t.Context(), []string{"texts"}) {
			if err != nil || row.Lease.Holder != "" {
				t.Errorf("%+v is left, %v", row, err)
			}
		}
		begun := time.Now()
		if err := b.texts.Drain(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("it took %s", d)
		}
		if n := b.m.Stats().LeftBehind; n != 0 {
			t.Errorf("%d were left behind", n)
		}
	})
}
