package materializer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

func TestAppendBecomesView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.append("a", "one", "two")
		token := r.append("a", "three")
		v, err := r.texts.Get(t.Context(), "a", materializer.AtLeast(token))
		if err != nil {
			t.Fatal(err)
		}
		if v.State.String() != "one two three" || v.ID != "a" || v.Applied != 3 || v.Head != 3 || v.Parked {
			t.Errorf("got %+v, want a with one two three, 3 of 3", v)
		}
		if err := r.halt(); err != nil {
			t.Errorf("Run returned %v after a clean stop, want nil", err)
		}
		r.wantClean()
	})
}

// What is left from before Run is taken up, the oldest first.
func TestStartTakesUpWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Batch: 1}, specOf(func(s text, op operation) (text, error) {
			order = append(order, op.Document)
			return fold(s, op)
		}))
		for _, id := range []string{"c", "a", "b", "c"} {
			r.append(id, "x")
		}
		r.start()
		settle()
		if got, want := fmt.Sprint(order), "[c c a b]"; got != want {
			t.Errorf("folded %s, want %s", got, want)
		}
		r.wantClean()
	})
}

func TestW5_HundredSignalsWhileQueuedAreOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 1, Batch: 1}, specOf(h.fold)).start()
		settle() // or what is appended now is both read and heard of
		r.append("busy", "hold")
		<-h.reached
		for range 100 {
			r.append("a", "x")
		}
		settle()
		if got := r.m.Stats(); got.Queued != 1 || got.Running != 1 {
			t.Errorf("%d queued and %d running, want 1 and 1", got.Queued, got.Running)
		}
		close(h.goOn)
		settle()
		if got := len(st.commitsOf("a")); got != 1 {
			t.Errorf("%d runs, want 1", got)
		}
		if got := r.m.Stats(); got.Absorbed != 99 || got.Requeues != 0 {
			t.Errorf("%d signals absorbed and %d requeues, want 99 and 0", got.Absorbed, got.Requeues)
		}
		r.wantClean()
	})
}

// 100 signals while running are exactly one more run.
func TestHundredSignalsWhileRunningAreOneMoreRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{Workers: 1}, specOf(h.fold)).start()
		r.append("a", "hold")
		<-h.reached
		for range 100 {
			r.append("a", "x")
		}
		settle()
		close(h.goOn)
		settle()
		if got := len(st.commitsOf("a")); got != 2 {
			t.Errorf("%d runs, want 2", got)
		}
		if got := r.m.Stats().Requeues; got != 1 {
			t.Errorf("%d requeues, want 1", got)
		}
		r.wantClean()
	})
}

// kubernetes #79934: a document that is queued or in hand is not queued again,
// whatever says that it is dirty.
func TestKubernetes79934_NoDuplicatesInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Batch: 1, Announcements: 1}, specOf(h.fold)).start()
		r.append("busy", "hold")
		<-h.reached
		ids := numbered("d", 10)
		for range 5 { // falls behind its bus, so the store is read too
			for _, id := range ids {
				r.append(id, "x")
			}
			settle()
		}
		ctx, cancel := context.WithCancel(t.Context())
		for _, id := range ids {
			go r.texts.Get(ctx, id, materializer.AtLeast(r.append(id, "x")))
		}
		settle()
		if got := r.m.Stats(); got.Queued != len(ids) || got.Running != 1 {
			t.Errorf("%d queued and %d running, want %d and 1", got.Queued, got.Running, len(ids))
		}
		cancel()
		close(h.goOn)
		settle()
		if got := r.m.Stats(); got.Queued+got.Running+got.Delayed != 0 {
			t.Errorf("%d queued, %d running, %d delayed at the end, want none", got.Queued, got.Running, got.Delayed)
		}
		r.wantClean()
	})
}
