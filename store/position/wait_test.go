package position_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/store/position"
)

// background starts a wait and returns what asks whether it is over, and how.
func background(wait func() error) (over func() (bool, error)) {
	done := make(chan error, 1)
	go func() { done <- wait() }()
	return func() (bool, error) {
		synctest.Wait()
		select {
		case err := <-done:
			done <- err
			return true, err
		default:
			return false, nil
		}
	}
}

func joined(t *testing.T, tr *position.Tracker, w position.Writer) *position.Member {
	t.Helper()
	m, err := tr.Join(w, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func reserved(t *testing.T, m *position.Member) position.Position {
	t.Helper()
	p, err := m.Reserve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func finish(t *testing.T, m *position.Member, ps ...position.Position) {
	t.Helper()
	if err := m.Finish(ps...); err != nil {
		t.Fatal(err)
	}
}

func admit(t *testing.T, tr *position.Tracker, ps ...position.Position) {
	t.Helper()
	var all []position.Standing
	for _, p := range ps {
		all = append(all, position.Standing{Writer: p.Writer, Epoch: 1, Completed: p.Number, Written: p.Number})
	}
	if err := tr.Admit(all...); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, tr *position.Tracker, p position.Position) {
	t.Helper()
	if err := tr.Hear(position.Standing{Writer: p.Writer, Epoch: 1, Completed: p.Number, Written: p.Number}); err != nil {
		t.Fatal(err)
	}
}

func TestC2(t *testing.T) {
	type waited struct {
		ctx     context.Context
		tracker *position.Tracker
	}
	for _, c := range []struct {
		name string
		run  func(*testing.T, waited)
	}{
		{"token_basic_map_assertion_bad", func(t *testing.T, w waited) {
			if got := token(t, "m5"); got != position.TokenAt(5) {
				t.Errorf("basic: %s", got)
			}
			if got, err := position.NewToken(5, at(1, 6)); err != nil || got != token(t, "m5~1.6") {
				t.Errorf("map: %s, %v", got, err)
			}
			for _, n := range []position.Number{4, 5} {
				if got, err := position.NewToken(5, at(1, n)); !errors.Is(err, position.ErrToken) {
					t.Errorf("assertion: with %d above 5 the token is %s, %v", n, got, err)
				}
			}
			if got, err := position.ParseToken("m5~"); err != nil || got != token(t, "m5") {
				t.Errorf("bad: %s, %v", got, err)
			}
		}},
		{"wait_token_caught_up", func(t *testing.T, w waited) {
			ended, cancel := context.WithCancel(w.ctx)
			cancel()
			if err := w.tracker.Wait(ended, w.tracker.Token()); err != nil {
				t.Errorf("waiting for what is there: %v", err)
			}
		}},
		{"wait_token_future_then_persisted", func(t *testing.T, w waited) {
			m := joined(t, w.tracker, 1)
			p := reserved(t, m)
			over := background(func() error { return w.tracker.Wait(w.ctx, w.tracker.Token().With(p)) })
			time.Sleep(2 * time.Second)
			if done, err := over(); done {
				t.Fatalf("the wait for an open position ended with %v", err)
			}
			finish(t, m, p)
			if done, err := over(); !done || err != nil {
				t.Fatalf("after finishing: %t, %v", done, err)
			}
		}},
		{"wait_token_timeout", func(t *testing.T, w waited) {
			why := errors.New("ten seconds are enough")
			ctx, cancel := context.WithTimeoutCause(w.ctx, 10*time.Second, why)
			defer cancel()
			m := joined(t, w.tracker, 1)
			p := reserved(t, m)
			over := background(func() error { return w.tracker.WaitFor(ctx, p) })
			time.Sleep(5 * time.Second)
			if done, err := over(); done {
				t.Fatalf("after 5 s it ended with %v", err)
			}
			time.Sleep(6 * time.Second)
			if done, err := over(); !done || !errors.Is(err, why) {
				t.Fatalf("after 11 s: %t, %v", done, err)
			}
			finish(t, m, p)
		}},
		{"sliding_sync_wait", func(t *testing.T, w waited) {
			m := joined(t, w.tracker, 1)
			p := reserved(t, m)
			request := w.tracker.Token().With(p)
			begun := time.Now()
			over := background(func() error { return w.tracker.Wait(w.ctx, request) })
			time.Sleep(9900 * time.Millisecond)
			if done, err := over(); done {
				t.Fatalf("after 9.9 s it ended with %v", err)
			}
			finish(t, m, p)
			if done, err := over(); !done || err != nil || time.Since(begun) > 10*time.Second {
				t.Fatalf("after finishing: %t, %v, %s", done, err, time.Since(begun))
			}
			if reply := w.tracker.Token(); reply.Of(1) != request.Of(1) {
				t.Errorf("the reply is at %s, the request at %s", reply, request)
			}
		}},
		{"sync_with_a_token_from_the_future", func(t *testing.T, w waited) {
			future := token(t, "m1000")
			if err := w.tracker.Wait(w.ctx, future.Bound(w.tracker.Seen())); err != nil {
				t.Errorf("the bounded token: %v", err)
			}
			var unknown *position.WriterError
			if err := w.tracker.Wait(w.ctx, token(t, "m0~7.1000")); !errors.Is(err, position.ErrUnknown) || !errors.As(err, &unknown) || unknown.Writer != 7 {
				t.Errorf("a writer that was never admitted: %v", err)
			}
		}},
		{"wait_for_stream_position", func(t *testing.T, w waited) {
			admit(t, w.tracker, at(2, 0))
			m := joined(t, w.tracker, 1)
			finished := reserved(t, m)
			finish(t, m, finished)
			if err := w.tracker.WaitFor(w.ctx, finished); err != nil {
				t.Fatalf("a finished position: %v", err)
			}
			open := reserved(t, m)
			over := background(func() error { return w.tracker.WaitFor(w.ctx, open) })
			hear(t, w.tracker, at(2, 20))
			if done, err := over(); done {
				t.Fatalf("another writer's report ended the wait with %v", err)
			}
			finish(t, m, open)
			if done, err := over(); !done || err != nil {
				t.Fatalf("after finishing: %t, %v", done, err)
			}
		}},
		{"wait_for_stream_position_rdata", func(t *testing.T, w waited) {
			m := joined(t, w.tracker, 1)
			ps, err := m.ReserveMany(w.ctx, 2) // a row is written at the first only
			if err != nil {
				t.Fatal(err)
			}
			over := background(func() error { return w.tracker.WaitFor(w.ctx, ps[1]) })
			if done, err := over(); done {
				t.Fatalf("it ended with %v", err)
			}
			finish(t, m, ps...)
			if done, err := over(); !done || err != nil {
				t.Fatalf("after finishing: %t, %v", done, err)
			}
		}},
		{"vector_clock", func(t *testing.T, w waited) {
			stuck, other := joined(t, w.tracker, 1), joined(t, w.tracker, 2)
			held := reserved(t, stuck)
			before := w.tracker.Token()
			p := reserved(t, other)
			finish(t, other, p)
			vector := w.tracker.Token()
			if vector.String() != "m0~2.2" {
				t.Fatalf("token is %s", vector)
			}
			got := position.Between(before, vector)
			if !got.Contains(p) || got.Contains(held) {
				t.Errorf("between %s and %s", before, vector)
			}
			finish(t, stuck, held)
			after := w.tracker.Token()
			got = position.Between(vector, after)
			if got.Contains(p) || !got.Contains(held) || after.String() != "m2" {
				t.Errorf("between %s and %s", vector, after)
			}
			if back := position.Between(after, vector); back.Contains(p) || back.Contains(held) {
				t.Errorf("between %s and %s", after, vector)
			}
		}},
		{"receipts_vector_clock", func(t *testing.T, w waited) {
			admit(t, w.tracker, at(1, 7), at(2, 7)) // writer 1 is stuck
			hear(t, w.tracker, at(2, 9))
			vector := w.tracker.Token()
			ahead := slices.Collect(vector.Ahead())
			if len(ahead) != 1 || ahead[0] != at(2, 9) {
				t.Fatalf("token is %s", vector)
			}
			hear(t, w.tracker, at(1, 10))
			got := position.Between(vector, w.tracker.Token())
			if got.Contains(at(2, 9)) || !got.Contains(at(1, 8)) {
				t.Errorf("between %s and %s", vector, w.tracker.Token())
			}
		}},
		{"three_sharded_writers", func(t *testing.T, w waited) {
			admit(t, w.tracker, at(1, 5), at(2, 5), at(3, 5))
			hear(t, w.tracker, at(1, 10))
			hear(t, w.tracker, at(3, 8)) // writer 2 is stuck
			now := w.tracker.Token()
			if now.String() != "m5~1.10~3.8" {
				t.Fatalf("token is %s", now)
			}
			got := position.Between(token(t, "m5"), now)
			if got.Contains(at(2, 7)) {
				t.Error("a join by the stuck writer, after its position and below the token's maximum, is included")
			}
			if !got.Contains(at(3, 7)) {
				t.Error("a join by the third writer, above the minimum and within its position, is excluded")
			}
		}},
		{"last_event_in_a_sharded_token", func(t *testing.T, w waited) {
			e1, e2, e3, e4 := at(1, 1), at(2, 2), at(1, 3), at(1, 4)
			last := func(cut position.Token) position.Position {
				events := []position.Position{e1, e2, e3, e4}
				slices.Reverse(events)
				return events[slices.IndexFunc(events, cut.Includes)]
			}
			if got := last(token(t, "m2").With(e3)); got != e3 {
				t.Errorf("within is %s, want %s", got, e3)
			}
			e3, e4 = at(2, 3), at(2, 4) // now of a writer that the token has not
			if got := last(token(t, "m2").With(at(1, 4))); got != e2 {
				t.Errorf("before is %s, want %s", got, e2)
			}
		}},
		{"old_report_after_catch_up", func(t *testing.T, w waited) {
			admit(t, w.tracker, at(1, 0))
			hear(t, w.tracker, at(1, 7))
			hear(t, w.tracker, at(1, 1))
			if got := w.tracker.CompletedBy(1); got != at(1, 7) {
				t.Errorf("it is at %s", got)
			}
		}},
		{"streams_example", func(t *testing.T, w waited) {
			runScript(t, position.Up, 1, `
				G: join w
				G: U 1
				G: open w = 2 3
				G: finish w 3
				G: P w=1
				G: finish w 2
				G: P w=3
				G: open w = 4 5 6
				G: finish w 5
				G: P w=3
				G: finish w 4
				G: P w=5
				G: finish w 6
				G: P w=6
				G: U 6
			`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.run(t, waited{t.Context(), position.NewTracker(position.Options{})})
			})
		})
	}
}

// Each change wakes those whose last need it meets, and nobody else.
func TestWaitForEveryNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := position.NewTracker(position.Options{})
		admit(t, tr, at(1, 0), at(2, 0), at(3, 0))
		texts := []string{"m0~1.4", "m0~1.4~2.5", "m0~1.4~2.5~3.6", "m3", "m4~2.5", "m6"}
		waits := map[string]func() (bool, error){}
		for _, text := range texts {
			waits[text] = background(func() error { return tr.Wait(t.Context(), token(t, text)) })
		}
		over := func(want ...string) {
			t.Helper()
			for text, over := range waits {
				if done, err := over(); done != slices.Contains(want, text) || err != nil {
					t.Errorf("%s is over: %t, %v, at %s", text, done, err, tr.Token())
				}
			}
		}
		over()
		hear(t, tr, at(1, 4))
		over("m0~1.4")
		hear(t, tr, at(2, 5))
		over("m0~1.4", "m0~1.4~2.5")
		hear(t, tr, at(3, 3)) // 3 is the least, and 4 and 5 are known
		over("m0~1.4", "m0~1.4~2.5", "m3", "m4~2.5")
		hear(t, tr, at(3, 7)) // 6 is not known
		over("m0~1.4", "m0~1.4~2.5", "m3", "m4~2.5", "m0~1.4~2.5~3.6")
		hear(t, tr, at(1, 6))
		hear(t, tr, at(2, 7))
		over(texts...)
	})
}

// Who waits for a writer that is idle here is woken by the numbers of others.
func TestWaitForAnIdleWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := position.NewTracker(position.Options{})
		joined(t, tr, 1)
		admit(t, tr, at(2, 0))
		over := background(func() error { return tr.WaitFor(t.Context(), at(1, 9)) })
		hear(t, tr, at(2, 8))
		if done, _ := over(); done {
			t.Error("8 is not 9")
		}
		hear(t, tr, at(2, 10))
		if done, err := over(); !done || err != nil {
			t.Errorf("9 is past: %t, %v", done, err)
		}
		over = background(func() error { return tr.WaitFor(t.Context(), at(1, 11)) })
		if done, _ := over(); done {
			t.Error("10 is not 11")
		}
		reserved(t, joined(t, tr, 3))
		if done, err := over(); !done || err != nil {
			t.Errorf("11 is another's: %t, %v", done, err)
		}
		if err := tr.WaitFor(t.Context(), at(0, 8)); err != nil {
			t.Error(err)
		}
	})
}

// A wait that was given up leaves nothing behind.
func TestWaitWithdraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := position.NewTracker(position.Options{})
		admit(t, tr, at(1, 0), at(2, 0))
		ctx, cancel := context.WithCancel(t.Context())
		var waits []func() (bool, error)
		for i := range position.Number(50) {
			waits = append(waits,
				background(func() error { return tr.WaitFor(ctx, at(1, 100+i%7)) }),
				background(func() error { return tr.Wait(ctx, position.TokenAt(100+i%5)) }))
		}
		stays := background(func() error { return tr.WaitFor(t.Context(), at(1, 103)) })
		synctest.Wait()
		if n := tr.Stats().Waiting; n != 101 {
			t.Errorf("%d wait", n)
		}
		cancel()
		for _, over := range waits {
			if done, err := over(); !done || !errors.Is(err, context.Canceled) {
				t.Fatalf("after cancelling: %t, %v", done, err)
			}
		}
		if n := tr.Stats().Waiting; n != 1 {
			t.Errorf("%d wait", n)
		}
		hear(t, tr, at(1, 200))
		hear(t, tr, at(2, 200))
		if done, err := stays(); !done || err != nil {
			t.Errorf("the one that was not cancelled: %t, %v", done, err)
		}
	})
}

func TestWaitDoesNotAllocateIfThere(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	m := joined(t, tr, 1)
	if n := testing.AllocsPerRun(100, func() {
		p := reserved(t, m)
		finish(t, m, p)
		now := tr.Token()
		if err := tr.Wait(t.Context(), now.With(p)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
