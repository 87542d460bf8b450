package position_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/refold-go/refold/store/position"
)

// TestArrows walks each arrow of the states of a writer, and each that is not
// there, in a tracker of its process and in one of another.
func TestArrows(t *testing.T) {
	standing := func(e position.Epoch, s position.State) position.Standing {
		return position.Standing{Writer: 1, Epoch: e, State: s, Completed: 5}
	}
	join := func(e position.Epoch) func(*position.Tracker) error {
		return func(tr *position.Tracker) error { _, err := tr.Join(1, e); return err }
	}
	admit := func(e position.Epoch, s position.State) func(*position.Tracker) error {
		return func(tr *position.Tracker) error { return tr.Admit(standing(e, s)) }
	}
	hear := func(e position.Epoch, s position.State) func(*position.Tracker) error {
		return func(tr *position.Tracker) error { return tr.Hear(standing(e, s)) }
	}
	fence := func(e position.Epoch) func(*position.Tracker) error {
		return func(tr *position.Tracker) error { _, err := tr.Fence(1, e, 9); return err }
	}
	type op = func(*position.Tracker) error
	const live, left, fenced = position.Live, position.Left, position.Fenced
	for _, c := range []struct {
		name  string
		setup []op
		do    op
		want  error
		state position.State
		epoch position.Epoch
	}{
		{"unknown, join", nil, join(1), nil, live, 1},
		{"unknown, join in epoch 0", nil, join(0), position.ErrFenced, 0, 0},
		{"unknown, admit live", nil, admit(3, live), nil, live, 3},
		{"unknown, admit left", nil, admit(3, left), nil, left, 3},
		{"unknown, admit fenced", nil, admit(3, fenced), nil, fenced, 3},
		{"unknown, hear", nil, hear(1, live), position.ErrUnknown, 0, 0},
		{"unknown, fence", nil, fence(1), position.ErrUnknown, 0, 0},

		{"live here, join greater", []op{join(2)}, join(3), position.ErrLive, live, 2},
		{"live here, join same", []op{join(2)}, join(2), position.ErrLive, live, 2},
		{"live here, join lower", []op{join(2)}, join(1), position.ErrFenced, live, 2},
		{"live here, admit greater", []op{join(2)}, admit(3, live), position.ErrLive, live, 2},
		{"live here, hear its echo", []op{join(2)}, hear(2, live), nil, live, 2},
		{"live here, hear lower", []op{join(2)}, hear(1, live), position.ErrFenced, live, 2},
		{"live here, hear fenced", []op{join(2)}, hear(2, fenced), nil, fenced, 2},
		{"live here, fence", []op{join(2)}, fence(2), nil, fenced, 2},
		{"live here, fence greater", []op{join(2)}, fence(4), nil, fenced, 4},
		{"live here, fence lower", []op{join(2)}, fence(1), position.ErrFenced, live, 2},

		{"live there, join greater", []op{admit(2, live)}, join(3), position.ErrLive, live, 2},
		{"live there, admit again", []op{admit(2, live)}, admit(2, live), nil, live, 2},
		{"live there, admit greater", []op{admit(2, live)}, admit(3, live), position.ErrLive, live, 2},
		{"live there, admit lower", []op{admit(2, live)}, admit(1, live), position.ErrFenced, live, 2},
		{"live there, hear", []op{admit(2, live)}, hear(2, live), nil, live, 2},
		{"live there, hear greater", []op{admit(2, live)}, hear(3, live), position.ErrUnknown, live, 2},
		{"live there, hear left", []op{admit(2, live)}, hear(2, left), nil, left, 2},
		{"live there, hear fenced", []op{admit(2, live)}, hear(2, fenced), nil, fenced, 2},
		{"live there, fence", []op{admit(2, live)}, fence(2), nil, fenced, 2},

		{"left, join greater", []op{admit(2, left)}, join(3), nil, live, 3},
		{"left, join same", []op{admit(2, left)}, join(2), position.ErrFenced, left, 2},
		{"left, admit greater", []op{admit(2, left)}, admit(3, live), nil, live, 3},
		{"left, hear live", []op{admit(2, left)}, hear(2, live), position.ErrFenced, left, 2},
		{"left, hear left", []op{admit(2, left)}, hear(2, left), nil, left, 2},
		{"left, fence", []op{admit(2, left)}, fence(2), nil, fenced, 2},

		{"fenced, join greater", []op{admit(2, fenced)}, join(3), nil, live, 3},
		{"fenced, join same", []op{admit(2, fenced)}, join(2), position.ErrFenced, fenced, 2},
		{"fenced, admit live same", []op{admit(2, fenced)}, admit(2, live), position.ErrFenced, fenced, 2},
		{"fenced, admit greater", []op{admit(2, fenced)}, admit(3, live), nil, live, 3},
		{"fenced, hear left", []op{admit(2, fenced)}, hear(2, left), nil, fenced, 2},
		{"fenced, hear live", []op{admit(2, fenced)}, hear(2, live), position.ErrFenced, fenced, 2},
		{"fenced, fence again", []op{admit(2, fenced)}, fence(2), nil, fenced, 2},
		{"fenced, fence lower", []op{admit(2, fenced)}, fence(1), position.ErrFenced, fenced, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := position.NewTracker(position.Options{})
			for _, op := range c.setup {
				if err := op(tr); err != nil {
					t.Fatal(err)
				}
			}
			before := tr.Stats()
			err := c.do(tr)
			e, ok := errors.AsType[*position.WriterError](err)
			if !errors.Is(err, c.want) || (err != nil) != ok || ok && (e.Writer != 1 || !strings.Contains(err.Error(), "writer 1")) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
			if after := tr.Stats(); err != nil && after != before {
				t.Errorf("refused, and the tracker went from %+v to %+v", before, after)
			}
			if c.epoch == 0 {
				if tr.Knows(1) {
					t.Error("it is known now")
				}
				return
			}
			if got := tr.Standings()[0]; got.State != c.state || got.Epoch != c.epoch {
				t.Errorf("it is %s", got)
			}
			if got, want := tr.Stats().Live, map[bool]int{true: 1}[c.state == live]; got != want {
				t.Errorf("%d are live, want %d", got, want)
			}
		})
	}
}

func TestALifeThatIsOver(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	m := joined(t, tr, 1)
	p := reserved(t, m)
	if err := m.Leave(); !errors.Is(err, position.ErrOpen) {
		t.Errorf("leaving with one open: %v", err)
	}
	finish(t, m, p)
	if err := m.Leave(); err != nil {
		t.Fatal(err)
	}
	again, err := tr.Join(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	q := reserved(t, again)
	_, err = m.Reserve(t.Context())
	for what, err := range map[string]error{"reserve": err, "finish": m.Finish(q), "leave": m.Leave()} {
		if !errors.Is(err, position.ErrFenced) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if ps, err := m.ReserveMany(t.Context(), 3); !errors.Is(err, position.ErrFenced) || ps != nil {
		t.Errorf("reserve many: %v, %v", ps, err)
	}
	finish(t, again, q)
}

func TestFinishRefuses(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	one, two := joined(t, tr, 1), joined(t, tr, 2)
	p, q := reserved(t, one), reserved(t, one)
	for _, wrong := range []position.Position{at(2, p.Number), at(1, 77), at(1, -1), {}, at(1, q.Number+1)} {
		if err := one.Finish(wrong); !errors.Is(err, position.ErrNotOpen) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if err := two.Finish(p); !errors.Is(err, position.ErrNotOpen) {
		t.Errorf("by another: %v", err)
	}
	if err := one.Finish(p, p, q); !errors.Is(err, position.ErrNotOpen) || tr.Completed() != 2 {
		t.Errorf("twice: %v, completed is %d", err, tr.Completed())
	}
}

// Whatever an allocator does, nothing stays reserved that nobody has.
func TestAllocatorThatMisbehaves(t *testing.T) {
	broken := errors.New("no connection")
	for _, c := range []struct {
		name   string
		drawn  []position.Stored
		err    error
		panics bool
		want   error
		text   string
	}{
		{"fails", nil, broken, false, broken, ""},
		{"fails with numbers", []position.Stored{8, 9}, broken, false, broken, ""},
		{"too few", []position.Stored{8}, nil, false, position.ErrAllocator, "1 numbers were drawn, 2 asked for"},
		{"too many", []position.Stored{8, 9, 10}, nil, false, position.ErrAllocator, "3 numbers"},
		{"set back", []position.Stored{8, 7}, nil, false, position.ErrAllocator, "drew 7, not above 7, the counter has to be moved forward"},
		{"twice", []position.Stored{8, 8}, nil, false, position.ErrAllocator, "drew 8, for the second time"},
		{"the last of all", []position.Stored{8, 1<<63 - 1}, nil, false, position.ErrAllocator, "above"},
		{"panics", nil, nil, true, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := position.NewTracker(position.Options{Origin: 7, Allocate: func(context.Context, int, position.Stored) ([]position.Stored, error) {
				if c.panics {
					panic(c.name)
				}
				return c.drawn, c.err
			}})
			m := joined(t, tr, 1)
			func() {
				defer func() {
					if r := recover(); (r != nil) != c.panics {
						t.Fatal(r)
					}
				}()
				ps, err := m.ReserveMany(t.Context(), 2)
				if ps != nil || !errors.Is(err, c.want) || err == nil || !strings.Contains(err.Error(), c.text) {
					t.Errorf("reserved %v, %v", ps, err)
				}
			}()
			if s := tr.Stats(); s.Open != 0 || s.Reserving != 0 || s.Holding != 0 {
				t.Errorf("stats are %+v", s)
			}
			if err := m.Leave(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Holes are the exact open numbers where they are known, also in the process that
// is told; elsewhere they are all that may be missing.
func TestHoles(t *testing.T) {
	home, told, apart := position.NewTracker(position.Options{}), position.NewTracker(position.Options{}), position.NewTracker(position.Options{})
	m, other := joined(t, home, 1), joined(t, home, 2)
	admit(t, told, at(1, 0))
	admit(t, apart, at(1, 0))
	slow := reserved(t, other)
	ps, err := m.ReserveMany(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	finish(t, m, ps[0], ps[2])
	finish(t, other, reserved(t, other))
	last := reserved(t, m)
	holes, err := home.Fence(1, 1, 0) // nothing of it was committed that is not reported
	if want := []position.Hole{{Writer: 1, First: 3, Last: 3}, {Writer: 1, First: 5, Last: 5}, {Writer: 1, First: 7, Last: 7}}; err != nil || !slices.Equal(holes, want) {
		t.Errorf("holes are %v, %v", holes, err)
	}
	if home.CompletedBy(1) != last || home.Completed() != slow.Number-1 {
		t.Errorf("after fencing the token is %s", home.Token())
	}
	again, err := home.Fence(1, 1, 0)
	if err != nil || !slices.Equal(again, holes) {
		t.Errorf("fenced again, holes are %v, %v", again, err)
	}
	if err := told.Hear(home.Standings()[0]); err != nil || !slices.Equal(told.Standings()[0].Holes, holes) {
		t.Errorf("told of %v, %v", told.Standings(), err)
	}
	holes, err = apart.Fence(1, 1, 6)
	if want := []position.Hole{{Writer: 1, First: 1, Last: 6}}; err != nil || !slices.Equal(holes, want) {
		t.Errorf("elsewhere holes are %v, %v", holes, err)
	}
}

// A reservation that was under way when its writer was fenced gets nothing.
func TestFencedWhileReserving(t *testing.T) {
	var tr *position.Tracker
	tr = position.NewTracker(position.Options{Allocate: func(context.Context, int, position.Stored) ([]position.Stored, error) {
		if _, err := tr.Fence(1, 1, 5); err != nil {
			t.Error(err)
		}
		return []position.Stored{4}, nil
	}})
	m := joined(t, tr, 1)
	if p, err := m.Reserve(t.Context()); !errors.Is(err, position.ErrFenced) || p != (position.Position{}) {
		t.Errorf("reserved %s, %v", p, err)
	}
	if s := tr.Stats(); s.Completed != 5 || s.Open+s.Reserving != 0 {
		t.Errorf("stats are %+v", s)
	}
}

func TestNoMoreNumbers(t *testing.T) {
	tr := position.NewTracker(position.Options{Origin: position.MaxNumber - 2})
	m := joined(t, tr, 1)
	if _, err := m.ReserveMany(t.Context(), 3); !errors.Is(err, position.ErrAllocator) {
		t.Errorf("three of two: %v", err)
	}
	ps, err := m.ReserveMany(t.Context(), 2)
	if err != nil || ps[1].Number != position.MaxNumber {
		t.Fatalf("reserved %v, %v", ps, err)
	}
	finish(t, m, ps...)
	if tr.Completed() != position.MaxNumber {
		t.Errorf("completed is %d", tr.Completed())
	}
	if _, err := m.Reserve(t.Context()); !errors.Is(err, position.ErrAllocator) {
		t.Errorf("one more: %v", err)
	}
}

func TestWriterLimits(t *testing.T) {
	tr := position.NewTracker(position.Options{})
	for _, w := range []position.Writer{0, position.MaxWriter + 1} {
		if _, err := tr.Join(w, 1); !errors.Is(err, position.ErrUnknown) {
			t.Errorf("writer %d: %v", w, err)
		}
	}
	for w := range position.Writer(position.MaxWriters) {
		joined(t, tr, w+1)
	}
	if _, err := tr.Join(5000, 1); !errors.Is(err, position.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	if err := tr.Admit(position.Standing{Writer: 5000, Epoch: 1, State: position.Left, Completed: 7}); err != nil {
		t.Errorf("one that left: %v", err)
	}
	if tr.Completed() != 7 {
		t.Errorf("completed is %d", tr.Completed())
	}
}
