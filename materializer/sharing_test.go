package materializer_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

func TestLeaseOutOfRangeIsRefused(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, time.Millisecond, time.Hour} {
		_, err := materializer.New(memory.New(nil), materializer.Config{Shared: true, Lease: d})
		wantErr(t, err, materializer.ErrInvalid)
	}
}

func TestSharedAndNotSharedExcludeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		alone := newRig(t, st, materializer.Config{}, spec())
		a, b := shared(t, st, fold).start(), shared(t, st, fold).start()
		settle()
		wantErr(t, alone.m.Run(t.Context()), materializer.ErrClaimed)
		for _, r := range []*rig{a, b} {
			if err := r.halt(); err != nil {
				t.Error(err)
			}
		}
		alone.start()
		settle()
		c := shared(t, st, fold)
		wantErr(t, c.m.Run(t.Context()), materializer.ErrClaimed)
		alone.append("d", "x")
		settle()
		alone.wantView("d", "x", 1, 1)
	})
}

// Three share the work: no document is folded by two at once, all do some of it, and
// what is appended to one that is busy elsewhere is not forgotten.
func TestSharersNeverFoldOneDocumentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		var mu sync.Mutex
		folding, runs := make(map[string]int), make([]int, 3)
		var rigs []*rig
		for n := range 3 {
			rigs = append(rigs, shared(t, st, func(s text, op operation) (text, error) {
				mu.Lock()
				folding[op.Document]++
				runs[n]++
				if folding[op.Document] > 1 {
					t.Errorf("%s is folded twice at once", op.Document)
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				folding[op.Document]--
				mu.Unlock()
				return fold(s, op)
			}).start())
		}
		ids := numbered("d", 50)
		want := ""
		for round := range 20 {
			for _, id := range ids {
				rigs[round%3].append(id, fmt.Sprint(round))
			}
			want += fmt.Sprint(" ", round)
			time.Sleep(7 * time.Millisecond)
		}
		if err := rigs[0].texts.Drain(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			rigs[0].wantView(id, want[1:], 20, 20)
		}
		for n, r := range rigs {
			if s := r.m.Stats(); runs[n] == 0 || s.LeftBehind != 0 || s.Lost != 0 {
				t.Errorf("process %d folded %d: %+v", n, runs[n], s)
			}
		}
		for row, err := range st.Runnable(t.Context(), []string{"texts"}) {
			t.Errorf("%+v is left, %v", row, err)
		}
	})
}

// A run that the lease is about to end is a slice: what it has folded is stored, and
// it goes on under another lease. Nobody takes over, and no attempt counts.
func TestRunLongerThanALeaseGoesOnInSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		slow := func(s text, op operation) (text, error) {
			time.Sleep(time.Second)
			return plain(s, op)
		}
		a := shared(t, st, slow).start()
		b := shared(t, st, slow).start()
		token := a.append("d", numbered("w", 40)...)
		for range 40 {
			time.Sleep(time.Second)
			if doc := a.load("d"); doc.Lease.LeftBehind() {
				t.Error("it is left behind")
			}
		}
		v, err := a.texts.Get(within(t, time.Minute), "d", materializer.AtLeast(token))
		if err != nil || v.Applied != 40 {
			t.Errorf("applied %d, %v", v.Applied, err)
		}
		for _, r := range []*rig{a, b} {
			if s := r.m.Stats(); s.Failed+s.Lost+s.LeftBehind != 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A reader in one process is woken by the view that another one makes, and is told
// what is going on meanwhile.
func TestReadersOfADocumentThatIsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		h := newHold()
		a := shared(t, st, h.fold).start()
		token := a.append("d", "hold")
		<-h.reached
		b := shared(t, st, fold).start()
		settle()
		x, err := b.texts.Explain(t.Context(), "d")
		if err != nil || x.State != materializer.StateLeased || x.Holder == "" || x.LeaseLeft <= 0 {
			t.Errorf("explained as %v, %v", x, err)
		}
		if x, err = a.texts.Explain(t.Context(), "d"); err != nil || x.State != materializer.StateRunning {
			t.Errorf("explained as %v, %v", x, err)
		}
		health, err := b.m.Health(t.Context())
		if err != nil || !health.Shared || health.Leased != 1 || health.Suspects != 0 || health.Dirty != 1 {
			t.Errorf("health is %+v, %v", health, err)
		}
		read := make(chan error)
		go func() {
			_, err := b.texts.Get(within(t, time.Minute), "d", materializer.AtLeast(token))
			read <- err
		}()
		settle()
		begun := time.Now()
		close(h.goOn)
		if err := <-read; err != nil || time.Since(begun) > 0 {
			t.Errorf("read after %s: %v", time.Since(begun), err)
		}
	})
}

// What is left behind is no fault that the watchdog finds, and neither is what
// others work on.
func TestLeasedIsNotOverlooked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		a := shared(t, st, fold)
		a.append("d", "x")
		if got := leaseFor(t, st, "somebody", "d", 5*time.Minute, false); got.Epoch == 0 {
			t.Fatalf("got %+v", got)
		}
		a.start()
		for range 6 {
			time.Sleep(45 * time.Second)
			if _, err := a.m.Health(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if doc := a.load("d"); doc.Applied != 0 {
			t.Error("the lease of another was not heeded")
		}
		time.Sleep(time.Minute)
		settle()
		a.wantView("d", "x", 1, 1)
		if s := a.m.Stats(); s.Overlooked != 0 || s.LeftBehind != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// One that is not shared has the store for itself: it heeds no lease of the dead, and
// leaves none.
func TestNotSharedTakesNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, spec())
		r.append("d", "x")
		if got := leaseFor(t, st, "dead", "d", time.Minute, false); got.Epoch == 0 {
			t.Fatalf("got %+v", got)
		}
		r.start()
		settle()
		r.wantView("d", "x", 1, 1)
		if l := r.load("d").Lease; l != (store.Lease{}) {
			t.Errorf("lease is %+v", l)
		}
		for _, p := range st.passed() {
			if p == atLease || p == atRelease {
				t.Errorf("passed %s", p)
			}
		}
	})
}

// atOnce counts the folds of a document that go on in one process.
type atOnce struct {
	t   *testing.T
	mu  sync.Mutex // guards the following field
	now int
}

func (a *atOnce) fold(h *hold) foldFunc {
	return func(s text, op operation) (text, error) {
		a.mu.Lock()
		if a.now++; a.now > 1 {
			a.t.Errorf("%s is folded twice at once in one process", op.Document)
		}
		a.mu.Unlock()
		defer func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.now--
		}()
		return h.fold(s, op)
	}
}

// A fold that hangs in the lane, and so has lost its lease, is not begun again by the
// pool of the same process, whatever is appended.
func TestHangingInTheLaneIsNotTakenByThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		h, once := newHold(), &atOnce{t: t}
		a := shared(t, st, once.fold(h))
		a.append("d", "hold")
		leaseFor(t, st, "dead", "d", time.Millisecond, false)
		time.Sleep(time.Second)
		a.start()
		<-h.reached
		for range 30 {
			time.Sleep(10 * time.Second)
			a.append("d", "x")
		}
		if doc := a.load("d"); !doc.Lease.LeftBehind() || doc.Applied != 0 {
			t.Errorf("document is %+v", doc)
		}
		close(h.goOn)
		time.Sleep(pastLease)
		settle()
		if doc := a.load("d"); doc.Dirty() {
			t.Errorf("document is %+v", doc)
		}
	})
}

// A fold that hangs in the pool of one process and then in the lane of another is not
// begun again by the lane of the first.
func TestHangingInThePoolIsNotTakenByTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		h, other, once := newHold(), newHold(), &atOnce{t: t}
		a := shared(t, st, once.fold(h)).start()
		a.append("d", "hold")
		<-h.reached
		b := shared(t, st, other.fold).start()
		<-other.reached
		time.Sleep(5 * time.Minute)
		if doc := a.load("d"); !doc.Lease.LeftBehind() {
			t.Errorf("document is %+v", doc)
		}
		close(other.goOn)
		settle() // else the lane of the first may be quicker, and has the document folded again
		close(h.goOn)
		time.Sleep(pastLease)
		settle()
		b.wantView("d", "hold", 1, 1)
	})
}

// What hangs when Run has to return is left behind, and nothing else is.
func TestStuckAtTheEndIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		h := newHold()
		a := newRig(t, st, materializer.Config{Shared: true, Workers: 1, Grace: time.Millisecond}, specOf(h.fold))
		a.append("d", "hold")
		for _, id := range numbered("e", 20) {
			a.append(id, "hold")
		}
		a.start()
		stuck := <-h.reached
		wantErr(t, a.halt(), materializer.ErrGraceOver)
		leases := 0
		for row, err := range st.Runnable(t.Context(), []string{"texts"}) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Lease.Holder != "" {
				leases++
			}
			if (row.Lease.Holder != "") != (row.Key.ID == stuck) {
				t.Errorf("%s is leased as %+v, and %s is stuck", row.Key, row.Lease, stuck)
			}
		}
		if leases != 1 {
			t.Errorf("%d are leased", leases)
		}
		close(h.goOn)
		b := shared(t, st, fold).start()
		time.Sleep(pastLease)
		settle()
		b.wantClean()
		if n := b.m.Stats().LeftBehind; n != 1 {
			t.Errorf("%d were taken over", n)
		}
	})
}
