package position_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/store/position"
)

// follow hands the news of one tracker to another until ctx ends.
func follow(ctx context.Context, from, to *position.Tracker) (count func() int) {
	n := 0
	go func() {
		for s, err := range from.News(ctx) {
			if err != nil {
				return
			}
			if to.Admit(s) == nil {
				n++
			}
		}
	}()
	return func() int { synctest.Wait(); return n }
}

func TestNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		tr := position.NewTracker(position.Options{})
		var got []position.Standing
		var last error
		go func() {
			for s, err := range tr.News(ctx) {
				if last = err; err == nil {
					got = append(got, s)
				}
			}
		}()
		want := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			if len(got) != len(want) {
				t.Fatalf("%s: told %v, want %v", what, got, want)
			}
			for i, s := range got {
				if s.String() != want[i] {
					t.Errorf("%s: told %q, want %q", what, s, want[i])
				}
			}
			got = nil
		}
		want("nobody")
		m := joined(t, tr, 1)
		want("joined", "writer 1, epoch 1, live, completed 0, written 0")
		admit(t, tr, at(2, 0))
		want("others are not told about")
		p, q := reserved(t, m), reserved(t, m)
		want("reserved")
		finish(t, m, q)
		want("out of order")
		finish(t, m, p)
		want("finished", "writer 1, epoch 1, live, completed 2, written 2")
		hear(t, tr, at(2, 9))
		want("idle", "writer 1, epoch 1, live, completed 9, written 2")
		reserved(t, m)
		if _, err := tr.Fence(1, 1, 12); err != nil {
			t.Fatal(err)
		}
		want("fenced", "writer 1, epoch 1, fenced, completed 12, written 2")
		if holes := tr.Standings()[0].Holes; len(holes) != 1 || holes[0] != (position.Hole{Writer: 1, First: 10, Last: 10}) {
			t.Errorf("holes are %v", holes)
		}
		cancel(why)
		want("cancelled")
		if last != why {
			t.Errorf("it ended with %v", last)
		}
	})
}

// A reader of news that is slow gets the last of each writer only.
func TestNewsAreCoalesced(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	m := joined(t, tr, 1)
	var told []position.Standing
	for s, err := range tr.News(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if told = append(told, s); len(told) == 2 {
			break
		}
		for range 1000 {
			finish(t, m, reserved(t, m))
		}
	}
	if told[1].Completed != 1000 || told[1].Written != 1000 {
		t.Errorf("told %v", told)
	}
}

// X3: a failure is told like a success, whichever way the position was reserved.
func TestX3_NotifyInBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a, b := position.NewTracker(position.Options{}), position.NewTracker(position.Options{})
		m := joined(t, a, 1)
		count := follow(ctx, a, b)
		before := count()
		failed := errors.New("rolled back")
		if err := m.Do(ctx, func(context.Context, position.Position) error { return failed }); err != failed {
			t.Errorf("error is %v", err)
		}
		if count() != before+1 || b.CompletedBy(1).Number != 1 {
			t.Errorf("after Do %d reports, %s", count()-before, b.CompletedBy(1))
		}
		finish(t, m, reserved(t, m))
		if count() != before+2 || b.CompletedBy(1).Number != 2 {
			t.Errorf("after Finish %d reports, %s", count()-before, b.CompletedBy(1))
		}
		func() {
			defer func() { _ = recover() }()
			_ = m.Do(ctx, func(context.Context, position.Position) error { panic("no") })
		}()
		if count() != before+3 || b.Completed() != 3 {
			t.Errorf("after a panic %d reports, %d", count()-before, b.Completed())
		}
		cancel()
	})
}

// Two processes that hear each other come to rest, however many are idle.
func TestNewsComeToRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a, b := position.NewTracker(position.Options{}), position.NewTracker(position.Options{})
		writer := joined(t, a, 1)
		joined(t, a, 2)
		joined(t, b, 3)
		joined(t, b, 4)
		toB, toA := follow(ctx, a, b), follow(ctx, b, a)
		synctest.Wait()
		before := toA() + toB()
		finish(t, writer, reserved(t, writer))
		if n := toA() + toB() - before; n > 5 { // each of the four, and one to spare
			t.Errorf("%d reports for one position", n)
		}
		if a.Token() != b.Token() || a.Token() != position.TokenAt(1) {
			t.Errorf("a is at %s, b at %s", a.Token(), b.Token())
		}
		cancel()
	})
}
