package position_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/store/position"
)

// The wait was for the bounded token, and what was read was up to the other.
func TestBug19644_TheBoundedTokenIsTheOneToReadFrom(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	m := joined(t, tr, 1)
	finish(t, m, reserved(t, m), reserved(t, m))
	since := token(t, "m1000")
	if since = since.Bound(tr.Seen()); since != position.TokenAt(2) {
		t.Fatalf("bounded it is %s", since)
	}
	p := reserved(t, m)
	finish(t, m, p)
	if !position.Between(since, tr.Token()).Contains(p) {
		t.Errorf("%s is not between %s and %s", p, since, tr.Token())
	}
}

// Entries at or below the minimum were left out of the text, but not its "~".
func TestBug17438_NoEmptyVector(t *testing.T) {
	for _, text := range []string{"m5~", "m5~~", "m5"} {
		if got, err := position.ParseToken(text); err != nil || got.String() != "m5" {
			t.Errorf("%q is read as %s, %v", text, got, err)
		}
	}
	for _, got := range []position.Token{
		token(t, "m4~1.5").Join(token(t, "m5")),
		token(t, "m5~1.7").Bound(5),
		token(t, "m5").With(at(1, 4)),
	} {
		if got.String() != "m5" {
			t.Errorf("token is %s", got)
		}
	}
}

// The first fact was invisible, as a stream was said to begin at 2.
func TestBug18712_TheFirstFactIsVisible(t *testing.T) {
	for _, d := range []position.Direction{position.Up, position.Down} {
		tr := position.NewTracker(position.Options{Direction: d})
		start := tr.Token()
		m := joined(t, tr, 1)
		p := reserved(t, m)
		if start.Includes(p) || tr.Token().Includes(p) {
			t.Errorf("%s: %s is open, and in %s", d, p, tr.Token())
		}
		finish(t, m, p)
		if !position.Between(start, tr.Token()).Contains(p) {
			t.Errorf("%s: %s is not between %s and %s", d, p, start, tr.Token())
		}
	}
}

// The position moved before what depended on it was applied. Who waits sees all
// that was done before the report; the race detector would tell.
func TestBug14723_WhatWasAppliedIsSeen(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	admit(t, tr, at(1, 0))
	cache := map[position.Number]bool{}
	done := make(chan error)
	go func() {
		err := tr.WaitFor(t.Context(), at(1, 100))
		if len(cache) != 100 {
			err = errors.Join(err, errors.New("the cache was not ready"))
		}
		done <- err
	}()
	for n := position.Number(1); n <= 100; n++ {
		cache[n] = true
		hear(t, tr, at(1, n))
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A number was drawn early in a long transaction, and all later events of the
// writer waited for it. Do draws when all is ready for the commit.
func TestBug16633_ASlowFactDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := position.NewTracker(position.Options{})
		m := joined(t, tr, 1)
		prepared := make(chan struct{})
		slow := background(func() error {
			<-prepared // long before the commit step
			return m.Do(t.Context(), func(context.Context, position.Position) error { return nil })
		})
		for range 10 {
			p := reserved(t, m)
			finish(t, m, p)
			if tr.Completed() != p.Number {
				t.Fatalf("completed is %d after %s", tr.Completed(), p)
			}
		}
		close(prepared)
		if done, err := slow(); !done || err != nil || tr.Completed() != 11 {
			t.Errorf("slow: %t, %v, %d", done, err, tr.Completed())
		}
	})
}

// A report covered a range with facts in it, and whoever read the range at the
// report got none. A fact is readable before its number is finished, and reports
// cover each finished number after it is finished, none of them twice.
func TestBug19795_ReportsCoverWhatIsReadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tr := position.NewTracker(position.Options{})
		m := joined(t, tr, 1)
		readable := map[position.Position]bool{}
		var delivered []position.Position
		reader := position.NewTracker(position.Options{})
		go func() {
			last := reader.Token()
			for s, err := range tr.News(ctx) {
				if err != nil {
					return
				}
				if err := reader.Admit(s); err != nil {
					t.Error(err)
				}
				now := reader.Token()
				for p := range readable {
					if position.Between(last, now).Contains(p) {
						delivered = append(delivered, p)
					}
				}
				last = now
			}
		}()
		synctest.Wait()
		random := rand.New(rand.NewPCG(1, 2))
		var open []position.Position
		for range 150 {
			ps, err := m.ReserveMany(ctx, 1+random.IntN(3))
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, ps...)
			for len(open) > 5 {
				i := random.IntN(len(open))
				readable[open[i]] = true
				finish(t, m, open[i])
				open = slices.Delete(open, i, i+1)
				synctest.Wait()
			}
		}
		for _, p := range open {
			readable[p] = true
		}
		finish(t, m, open...)
		synctest.Wait()
		if len(delivered) != len(readable) {
			t.Errorf("%d facts were delivered, %d written", len(delivered), len(readable))
		}
		for i, p := range delivered {
			if slices.Contains(delivered[:i], p) {
				t.Errorf("%s was delivered twice", p)
			}
		}
		cancel()
	})
}
