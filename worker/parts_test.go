package worker_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/refold-go/refold/worker"
)

func explode(v any) { panic(v) }

func TestGuard(t *testing.T) {
	if err := worker.Guard(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	plain := errors.New("plain")
	if err := worker.Guard(func() error { return plain }); err != plain {
		t.Fatalf("got %v", err)
	}

	var nobody *time.Time
	for name, row := range map[string]struct {
		f    func() error
		says string
		is   error
		top  string // the function on top of the stack
	}{
		"text":        {func() error { explode("boom"); return nil }, "panic: boom", nil, "worker_test.explode("},
		"error":       {func() error { explode(plain); return nil }, "panic: plain", plain, "worker_test.explode("},
		"nil":         {func() error { explode(nil); return nil }, "panic: panic called with nil argument", nil, "worker_test.explode("},
		"nil pointer": {func() error { _ = *nobody; return nil }, "panic: runtime error: invalid memory address", nil, "worker_test.TestGuard."},
		"again": {func() error {
			defer func() { explode(fmt.Sprint(recover(), " twice")) }()
			panic("boom")
		}, "panic: boom twice", nil, "worker_test.explode("},
	} {
		t.Run(name, func(t *testing.T) {
			err := worker.Guard(row.f)
			p, ok := errors.AsType[*worker.PanicError](err)
			if !ok || !strings.HasPrefix(err.Error(), row.says) {
				t.Fatalf("got %v", err)
			}
			if row.is != nil && !errors.Is(err, row.is) {
				t.Fatalf("%v is not %v", err, row.is)
			}
			lines := bytes.SplitN(p.Stack, []byte("\n"), 3)
			if !bytes.HasPrefix(lines[0], []byte("goroutine ")) || !bytes.Contains(lines[1], []byte(row.top)) {
				t.Fatalf("stack:\n%s", p.Stack)
			}
		})
	}
	if p, ok := errors.AsType[*runtime.PanicNilError](worker.Guard(func() error { panic(nil) })); !ok {
		t.Fatalf("got %v", p)
	}
}

func TestBackoffCeiling(t *testing.T) {
	second := time.Second
	for _, row := range []struct {
		b       worker.Backoff
		attempt int
		want    time.Duration
	}{
		{worker.Backoff{}, math.MinInt, 100 * time.Millisecond},
		{worker.Backoff{}, 0, 100 * time.Millisecond},
		{worker.Backoff{}, 1, 100 * time.Millisecond},
		{worker.Backoff{}, 2, 200 * time.Millisecond},
		{worker.Backoff{}, 10, 51200 * time.Millisecond},
		{worker.Backoff{}, 11, time.Minute},
		{worker.Backoff{}, math.MaxInt, time.Minute},
		{worker.Backoff{First: second, Cap: 10 * second, Factor: 3}, 3, 9 * second},
		{worker.Backoff{First: second, Cap: 10 * second, Factor: 3}, 4, 10 * second},
		{worker.Backoff{First: second, Cap: 10 * second, Factor: 1}, math.MaxInt, second},
		{worker.Backoff{First: 20 * second, Cap: 10 * second}, 1, 10 * second},
		{worker.Backoff{First: -1, Cap: -1, Factor: -1}, 2, 200 * time.Millisecond},
		{worker.Backoff{Factor: math.NaN()}, 2, 200 * time.Millisecond},
		{worker.Backoff{Factor: math.Inf(1)}, 1, 100 * time.Millisecond},
		{worker.Backoff{Factor: math.Inf(1)}, 2, time.Minute},
		{worker.Backoff{Cap: math.MaxInt64}, 1000, math.MaxInt64},
		{worker.Backoff{First: 1, Cap: 1}, 1, 1},
	} {
		if got := row.b.Ceiling(row.attempt); got != row.want {
			t.Errorf("%+v: Ceiling(%d) = %v, want %v", row.b, row.attempt, got, row.want)
		}
	}
}

func TestBackoffDelayStaysBelowItsCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := worker.Backoff{
			First:  time.Duration(rapid.Int64().Draw(t, "first")),
			Cap:    time.Duration(rapid.Int64().Draw(t, "cap")),
			Factor: rapid.Float64().Draw(t, "factor"),
		}
		attempt := rapid.Int().Draw(t, "attempt")
		ceiling := b.Ceiling(attempt)
		if ceiling <= 0 || b.Cap > 0 && ceiling > b.Cap {
			t.Fatalf("ceiling %v", ceiling)
		}
		if d := b.Delay(attempt); d < 0 || d > ceiling {
			t.Fatalf("delay %v of at most %v", d, ceiling)
		}
		if attempt > 1 && b.Ceiling(attempt-1) > ceiling {
			t.Fatal("the ceiling falls")
		}
	})
}

func TestBackoffSpreadsOverTheWholeRange(t *testing.T) {
	var tenths [10]int
	const n = 10_000
	b := worker.Backoff{}
	for range n {
		tenths[min(9, b.Delay(3)*10/b.Ceiling(3))]++
	}
	for i, got := range tenths {
		if got < n/20 || got > n/5 { // some 16 standard deviations away from n/10
			t.Errorf("tenth %d of the range was drawn %d times of %d", i, got, n)
		}
	}
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none, zero, negative := worker.Limit{}, worker.StartLimit(0), worker.StartLimit(-1)
		l := worker.StartLimit(2 * time.Second)
		time.Sleep(2*time.Second - 1)
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Nanosecond)
		err := l.Check()
		if !errors.Is(err, worker.ErrTimeLimit) || !strings.Contains(err.Error(), "2s") {
			t.Fatalf("got %v", err)
		}
		time.Sleep(1000 * time.Hour)
		for _, l := range []worker.Limit{none, zero, negative} {
			if err := l.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkLimitCheck(b *testing.B) {
	b.Run("none", func(b *testing.B) {
		l := worker.StartLimit(0)
		for b.Loop() {
			_ = l.Check()
		}
	})
	b.Run("one hour", func(b *testing.B) {
		l := worker.StartLimit(time.Hour)
		for b.Loop() {
			_ = l.Check()
		}
	})
}

func BenchmarkGuard(b *testing.B) {
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		_ = worker.Guard(func() error { n++; return nil })
	}
}

func BenchmarkBackoffDelay(b *testing.B) {
	var backoff worker.Backoff
	for b.Loop() {
		_ = backoff.Delay(5)
	}
}
