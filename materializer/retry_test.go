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

// attempts notes when a fold was called for an operation.
type attempts struct {
	mu    sync.Mutex
	times []time.Time
}

func (a *attempts) note() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = append(a.times, time.Now())
}

// W4: a failed run stays dirty and is tried again, later each time, until it has
// been tried as often as the collection says.
func TestW4_FailedRunStaysDirtyAndIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried attempts
		s := specOf(func(s text, op operation) (text, error) {
			if op.Body.Text == "!fail" {
				tried.note()
			}
			return fold(s, op)
		})
		s.Retry = materializer.Retry{Attempts: 7, First: time.Second, Cap: 5 * time.Second, Factor: 3}
		r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
		r.append("a", "!fail")
		settle()
		if dirty := fmt.Sprint(r.dirty()); dirty != "[a]" {
			t.Errorf("dirty after the first failure: %s, want [a]", dirty)
		}
		if got := r.m.Stats(); got.Delayed != 1 || got.Failed != 1 {
			t.Errorf("%d delayed and %d failed, want 1 and 1", got.Delayed, got.Failed)
		}
		time.Sleep(time.Hour)
		settle()
		if got := len(tried.times); got != 7 {
			t.Fatalf("tried %d times, want 7", got)
		}
		ceilings := []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 5 * time.Second, 5 * time.Second, 5 * time.Second}
		for i, most := range ceilings {
			if gap := tried.times[i+1].Sub(tried.times[i]); gap < 0 || gap > most {
				t.Errorf("attempt %d came %v after the one before, want at most %v", i+2, gap, most)
			}
		}
		r.wantParked("a", 1, 7, errPlanted.Error())
		if got := r.m.Stats(); got.Failed != 7 || got.Parked != 1 || got.Delayed != 0 {
			t.Errorf("%d failed, %d parked, %d delayed, want 7, 1, 0", got.Failed, got.Parked, got.Delayed)
		}
		// Appending to a parked document wakes nobody.
		r.append("a", "x")
		time.Sleep(time.Hour)
		settle()
		if got := len(tried.times); got != 7 {
			t.Errorf("tried %d times after an append to the parked document, want 7", got)
		}
	})
}

// Attempts are counted for each operation: getting further starts anew, and what
// went well is kept.
func TestAttemptsAreCountedForEachOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := map[string]int{"b": 2, "d": 2}
		s := specOf(func(s text, op operation) (text, error) {
			if left[op.Body.Text] > 0 {
				left[op.Body.Text]--
				return s, errPlanted
			}
			return fold(s, op)
		})
		s.Retry.Attempts = 3
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, s).start()
		r.append("x", "a", "b", "c", "d", "e")
		time.Sleep(time.Minute)
		settle()
		r.wantView("x", "a b c d e", 5, 5)
		var got []string
		for _, c := range st.commitsOf("x") {
			record := fmt.Sprintf("%d", c.Applied)
			if c.Failure != nil {
				record += fmt.Sprintf(" failed %d times at %d", c.Failure.Attempts, c.Failure.Seq)
			}
			got = append(got, record)
		}
		want := []string{"1 failed 1 times at 2", "1 failed 2 times at 2", "3 failed 1 times at 4", "3 failed 2 times at 4", "5"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("commits %q, want %q", got, want)
		}
		r.wantClean()
	})
}

func TestRetryAfterIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := []time.Duration{7 * time.Second, 0, time.Hour, 3 * time.Minute}
		var tried attempts
		r := newRig(t, memory.New(nil), materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			tried.note()
			if n := len(tried.times); n <= len(delays) {
				return s, fmt.Errorf("wrapped: %w", materializer.RetryAfter(delays[n-1], errPlanted))
			}
			return fold(s, op)
		})).start()
		r.append("a", "x")
		time.Sleep(2 * time.Hour)
		settle()
		if got := len(tried.times); got != len(delays)+1 {
			t.Fatalf("tried %d times, want %d", got, len(delays)+1)
		}
		for i, want := range delays {
			if got := tried.times[i+1].Sub(tried.times[i]); got != want {
				t.Errorf("attempt %d came %v after the one before, want %v", i+2, got, want)
			}
		}
		r.wantView("a", "x", 1, 1)
	})
}

// A delay is in the store: the next materializer keeps to it.
func TestDelayOutlivesTheMaterializer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		first := newRig(t, st, materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			return s, materializer.RetryAfter(time.Hour, errPlanted)
		})).start()
		first.append("a", "x")
		settle()
		first.halt()
		time.Sleep(20 * time.Minute)

		start := time.Now()
		var tried attempts
		newRig(t, st, materializer.Config{}, specOf(func(s text, op operation) (text, error) {
			tried.note()
			return fold(s, op)
		})).start()
		time.Sleep(2 * time.Hour)
		settle()
		if len(tried.times) != 1 || tried.times[0].Sub(start) != 40*time.Minute {
			t.Errorf("tried at %v, want once, 40 minutes after %v", tried.times, start)
		}
	})
}

func TestPermanentParksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.append("a", "x", "!permanent", "y")
		settle()
		r.wantParked("a", 2, 1, "wrapped: "+errPlanted.Error())
		r.wantView("a", "x", 1, 3)
	})
}

// An unknown kind is never skipped.
func TestUnknownKindParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		r.appendRaw("a", store.Entry{Body: []byte(`{"Text":"x"}`)}, store.Entry{Kind: "later", Body: []byte(`{}`)}, store.Entry{Body: []byte(`{"Text":"y"}`)})
		r.appendRaw("b", store.Entry{Body: []byte(`{"Text":`)}) // not JSON: may be mended by a retry, as far as one knows
		if err := r.m.Wait(within(t, time.Hour), r.end()); err == nil {
			t.Error("Wait returned nil, want the error of parked documents")
		}
		r.wantParked("a", 2, 1, `"later"`)
		r.wantParked("b", 1, 10, "decoding the operation")
		r.wantView("a", "x", 1, 3)
	})
}

func TestErrorsOfAFoldKeepWhatTheyWrap(t *testing.T) {
	if err := materializer.Permanent(nil); err != nil {
		t.Errorf("Permanent(nil) is %v, want nil", err)
	}
	if err := materializer.RetryAfter(time.Second, nil); err != nil {
		t.Errorf("RetryAfter of nil is %v, want nil", err)
	}
	for _, err := range []error{materializer.Permanent(errPlanted), materializer.RetryAfter(-time.Second, errPlanted)} {
		wantErr(t, err, errPlanted)
		if err.Error() != errPlanted.Error() {
			t.Errorf("text %q, want %q", err, errPlanted)
		}
	}
}

func TestTimeLimitKeepsWhatIsFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(s text, op operation) (text, error) {
			time.Sleep(time.Second)
			return fold(s, op)
		}
		s := specOf(slow)
		s.TimeLimit = 3500 * time.Millisecond
		s.Retry.First = time.Nanosecond
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, s).start()
		r.append("a", numbered("w", 10)...)
		time.Sleep(time.Minute)
		settle()
		var got []int64
		for _, c := range st.commitsOf("a") {
			got = append(got, c.Applied)
			if failed := c.Failure != nil; failed != (c.Applied < 10) {
				t.Errorf("commit at %d has failure %v, want one before the last", c.Applied, c.Failure)
			} else if failed && c.Failure.Attempts != 1 {
				t.Errorf("commit at %d counts %d attempts, want 1", c.Applied, c.Failure.Attempts)
			}
		}
		if want := "[4 8 10]"; fmt.Sprint(got) != want {
			t.Errorf("commits at %v, want %s", got, want)
		}
		r.wantClean()
	})
}

func TestNegativeTimeLimitIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := specOf(func(s text, op operation) (text, error) {
			time.Sleep(time.Hour)
			return fold(s, op)
		})
		s.TimeLimit = -1
		st := newTap(memory.New(nil))
		r := newRig(t, st, materializer.Config{}, s).start()
		r.append("a", "x", "y", "z")
		time.Sleep(4 * time.Hour)
		settle()
		if got := len(st.commitsOf("a")); got != 1 {
			t.Errorf("%d commits, want 1", got)
		}
		r.wantClean()
	})
}

// What a fold did before it failed is kept, even if there is no time left to
// fold it again within the limit.
func TestFailureAtTheTimeLimitKeepsThePrefix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := specOf(func(s text, op operation) (text, error) {
			time.Sleep(time.Second)
			return fold(s, op)
		})
		s.TimeLimit = 3500 * time.Millisecond
		r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
		r.append("a", "one", "two", "three", "!permanent")
		time.Sleep(time.Minute)
		settle()
		r.wantView("a", "one two three", 3, 4)
		r.wantParked("a", 4, 1, errPlanted.Error())
	})
}

// A delay that has no room in memory is kept to all the same: the store has it.
func TestDelayWithoutRoomInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried attempts
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 1, Queue: 1}, specOf(func(s text, op operation) (text, error) {
			tried.note()
			if time.Since(tried.times[0]) < time.Hour {
				return s, materializer.RetryAfter(time.Hour, errPlanted)
			}
			return fold(s, op)
		})).start()
		for _, id := range []string{"a", "b"} {
			r.append(id, "x")
			settle()
		}
		time.Sleep(time.Minute)
		for _, id := range []string{"a", "b"} {
			r.append(id, "y")
			settle()
		}
		tried.mu.Lock()
		got := len(tried.times)
		tried.mu.Unlock()
		if got != 2 {
			t.Errorf("tried %d times in the first minutes, want each document once", got)
		}
		time.Sleep(time.Hour)
		settle()
		r.wantClean()
	})
}
