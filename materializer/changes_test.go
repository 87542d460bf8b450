package materializer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
	"go.uber.org/goleak"
)

type changedText = materializer.Changed[text]

// follower reads a feed of changes and checks that its cursors rise.
type follower struct {
	t    testing.TB
	pull func() (changedText, error, bool)
	last materializer.Cursor
}

func follow(t *testing.T, texts *materializer.Collection[text, word], from materializer.Cursor) *follower {
	pull, stop := iter.Pull2(texts.Changes(t.Context(), from))
	t.Cleanup(stop)
	return &follower{t: t, pull: pull, last: from}
}

// next returns the next change as text.
func (f *follower) next() string {
	f.t.Helper()
	v, err, ok := f.pull()
	if err != nil || !ok {
		f.t.Fatalf("the stream ended: %v, %v", err, ok)
	}
	if !f.last.Before(v.Cursor) {
		f.t.Errorf("the change %s comes after %s", v.Cursor, f.last)
	}
	f.last = v.Cursor
	said := fmt.Sprintf("%s %s %d", v.ID, v.State, v.Applied)
	if v.History {
		said += " history"
	}
	return said
}

func (f *follower) want(changes ...string) {
	f.t.Helper()
	for _, want := range changes {
		if got := f.next(); got != want {
			f.t.Errorf("got the change %q, want %q", got, want)
		}
	}
}

func TestChangesFromBacklogToLiveWithoutAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		for _, w := range []string{"one", "two", "three"} {
			r.append("a", w)
			settle()
		}
		r.append("b", "x")
		settle()
		f := follow(t, r.texts, materializer.Cursor{})
		f.want("a one two three 3", "b x 1")
		go func() {
			time.Sleep(time.Hour)
			r.append("a", "four")
		}()
		f.want("a one two three four 4")
		now, err := r.m.LastChange(t.Context())
		if err != nil || now != f.last {
			t.Errorf("the last change is %s, %v, want %s", now, err, f.last)
		}
	})
}

// A reader that is slow gets the latest state of what changed, and each document.
func TestChangesToASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{Announcements: 4}, spec()).start()
		r.append("first", "x")
		latest := make(map[string]string)
		n := 0
		for v, err := range r.texts.Changes(t.Context(), materializer.Cursor{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 {
				for range 10 {
					for _, id := range numbered("d", 300) {
						r.append(id, "x")
					}
					settle()
				}
				r.append("last", "x")
				settle()
			}
			latest[v.ID] = v.State.String()
			if v.ID == "last" {
				break
			}
		}
		if len(latest) != 302 || latest["d000299"] != strings.TrimSpace(strings.Repeat("x ", 10)) || n > 2*300+3 {
			t.Errorf("%d documents in %d changes, the last one %q", len(latest), n, latest["d000299"])
		}
	})
}

// ChangesSoFar ends behind what has changed when it began, however much changes
// meanwhile, and the next one goes on from it.
func TestChangesSoFarEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		for _, id := range numbered("d", 300) {
			if id == "d000299" {
				settle() // so that it is the last to be stored
			}
			r.append(id, "x")
		}
		settle()
		var last materializer.Cursor
		seen := make(map[string]int64)
		for round := range 3 {
			n := 0
			for v, err := range r.texts.ChangesSoFar(t.Context(), last) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; !last.Before(v.Cursor) {
					t.Fatalf("the change %s comes after %s", v.Cursor, last)
				}
				last, seen[v.ID] = v.Cursor, v.Applied
				if round == 0 && n < 290 {
					r.append("d000299", "again")
					r.append("new", "again")
					settle()
				}
			}
			if want := []int{299, 2, 0}[round]; n != want {
				t.Errorf("round %d: %d changes, want %d", round, n, want)
			}
		}
		if len(seen) != 301 || seen["d000299"] != 290 || seen["new"] != 289 {
			t.Errorf("%d documents, the hot ones at %d and %d", len(seen), seen["d000299"], seen["new"])
		}
		other := newRig(t, memory.New(nil), materializer.Config{}, spec())
		n := 0
		for _, err := range other.texts.ChangesSoFar(t.Context(), last) {
			n++
			wantErr(t, err, materializer.ErrForeignToken)
		}
		if n != 1 {
			t.Errorf("%d elements for a foreign cursor, want one error", n)
		}
	})
}

// Run says when it has the store, and not if another one has it.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		ready := 0
		newRig(t, st, materializer.Config{Ready: func() { ready++ }}, spec()).start()
		settle()
		if ready != 1 {
			t.Errorf("told %d times, want once", ready)
		}
		m, err := materializer.New(st, materializer.Config{Ready: func() { ready++ }})
		if err != nil {
			t.Fatal(err)
		}
		if wantErr(t, m.Run(t.Context()), materializer.ErrClaimed); ready != 1 {
			t.Errorf("told %d times, and the second Run was refused", ready)
		}
	})
}

// A follower that comes back with the cursor of what it stored goes on from there,
// also in another life of the materializer.
func TestChangesGoOnFromACursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		r := newRig(t, st, materializer.Config{}, spec()).start()
		r.append("a", "one")
		settle() // or b may be stored first
		r.append("b", "one")
		settle()
		f := follow(t, r.texts, materializer.Cursor{})
		f.want("a one 1")
		kept, err := materializer.ParseCursor(f.last.String())
		if err != nil {
			t.Fatal(err)
		}
		r.halt()
		r = newRig(t, st, materializer.Config{}, spec()).start()
		r.append("a", "two")
		settle()
		follow(t, r.texts, kept).want("b one 1", "a one two 2")
	})
}

// TestHistoryIsNotNews: an append that says that it is history is folded like any
// other, and who follows is told that it is.
func TestHistoryIsNotNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		history := func(id string, ws ...string) {
			t.Helper()
			if _, err := r.m.Append(t.Context(), r.texts.Change(id, words(ws)...).AsHistory()); err != nil {
				t.Fatal(err)
			}
			settle()
		}
		f := follow(t, r.texts, materializer.Cursor{})
		history("a", "old")
		f.want("a old 1 history")
		r.append("a", "new")
		settle()
		f.want("a old new 2")
		before := f.last
		r.append("a", "newer")
		settle()
		history("a", "older")
		// To who saw neither, the document has something new, though its last run was
		// history; to who saw the new one it has not.
		follow(t, r.texts, before).want("a old new newer older 4")
		f.want("a old new newer older 4")
		history("a", "oldest")
		f.want("a old new newer older oldest 5 history")

		var marks []bool
		for op, err := range r.texts.Operations(t.Context(), "a", 1) {
			if err != nil {
				t.Fatal(err)
			}
			marks = append(marks, op.History)
		}
		if want := []bool{true, false, false, true, true}; !slices.Equal(marks, want) {
			t.Errorf("the operations say %v, want %v", marks, want)
		}
	})
}

// Parking is a change too; a run that only failed is none, and neither are those of
// other collections.
func TestChangesOfAFailureAndOfOtherCollections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec())
		tallies := registerTally(t, r.m)
		r.start()
		f := follow(t, r.texts, materializer.Cursor{})
		settle()
		go func() {
			tallies.Append(t.Context(), "a", struct{}{})
			r.append("tries", "!fail")
			time.Sleep(time.Second)
			r.append("a", "!permanent")
		}()
		v, err, _ := f.pull()
		if err != nil || v.ID != "a" || !v.Parked || v.Applied != 0 || v.Head != 1 || v.History {
			t.Errorf("got %+v, %v, want a, parked at 0 of 1", v, err)
		}
	})
}

func TestChangesEnd(t *testing.T) {
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errPlanted)
	for _, c := range []struct {
		name    string
		ctx     context.Context
		do      func(r *rig)
		seen    int
		targets []error
	}{
		{"end of Run", context.Background(), func(r *rig) { r.stop(errPlanted) }, 0, []error{materializer.ErrNotRunning, errPlanted}},
		{"end of Run behind what it stored", context.Background(), func(r *rig) {
			r.append("a", "x")
			settle()
			r.stop(errPlanted)
		}, 1, []error{materializer.ErrNotRunning, errPlanted}},
		{"after Run", context.Background(), func(r *rig) { r.halt() }, 0, []error{materializer.ErrNotRunning}},
		{"context", ended, func(*rig) {}, 0, []error{errPlanted}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
				settle()
				changes := r.texts.Changes(c.ctx, materializer.Cursor{})
				c.do(r)
				seen, failed := 0, 0
				for _, err := range changes {
					if err == nil {
						seen++
						continue
					}
					failed++
					for _, target := range c.targets {
						wantErr(t, err, target)
					}
				}
				if seen != c.seen || failed != 1 {
					t.Errorf("%d changes and %d errors, want %d and 1", seen, failed, c.seen)
				}
			})
		})
	}
}

// A stream ends when its store is closed.
func TestChangesEndWithTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(nil)
		r := newDamagedRig(t, st, materializer.Config{}, spec()) // it never runs
		go func() {
			time.Sleep(time.Second)
			st.Close()
		}()
		for _, err := range r.texts.Changes(within(t, time.Minute), materializer.Cursor{}) {
			wantErr(t, err, materializer.ErrClosed)
		}
	})
}

// A cursor of another store, and one that nobody was given, are refused at once.
func TestChangesRefuseACursor(t *testing.T) {
	r := newRig(t, memory.New(nil), materializer.Config{}, spec())
	other := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
	if _, err := other.texts.Get(within(t, time.Minute), "a", materializer.AtLeast(other.append("a", "x"))); err != nil {
		t.Fatal(err)
	}
	foreign, err := other.m.LastChange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	future, err := materializer.ParseCursor(foreign.String() + "000000000000")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(texts *materializer.Collection[text, word], from materializer.Cursor, target error) (last error) {
		n := 0
		for _, err := range texts.Changes(within(t, time.Minute), from) {
			n++
			last = err
			wantErr(t, err, target)
		}
		if n != 1 {
			t.Errorf("%d elements, want one error", n)
		}
		return last
	}
	refused(r.texts, foreign, materializer.ErrForeignToken)
	err = refused(other.texts, future, materializer.ErrFutureToken)
	if e, ok := errors.AsType[*materializer.FutureCursorError](err); !ok || e.Last != foreign {
		t.Errorf("%v does not say that the feed is at %s", err, foreign)
	}
}

// The end of the context wakes a reader that waits for a change.
func TestChangesEndWithTheContextWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		for _, err := range r.texts.Changes(within(t, time.Minute), materializer.Cursor{}) {
			wantErr(t, err, errTooLong)
		}
	})
}

// A view that cannot be decoded ends the stream with its place, so that a follower
// can go on behind it.
func TestChangesOfAViewThatCannotBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := spec()
		s.Views = fussy{}
		r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
		r.append("bad", "undecodable")
		settle() // or good may be stored first
		r.append("good", "x")
		settle()
		var behind materializer.Cursor
		for v, err := range r.texts.Changes(t.Context(), materializer.Cursor{}) {
			wantErr(t, err, errPlanted)
			if v.ID != "bad" || v.Cursor.IsZero() {
				t.Errorf("the error comes with %+v", v)
			}
			behind = v.Cursor
		}
		follow(t, r.texts, behind).want("good x 1")
	})
}

// A stream can be read twice, each time from its cursor.
func TestChangesReadTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		changes := r.texts.Changes(within(t, time.Minute), materializer.Cursor{})
		r.append("a", "x")
		for range 2 {
			for v, err := range changes {
				if err != nil || v.ID != "a" {
					t.Fatalf("got %+v, %v", v, err)
				}
				break
			}
		}
	})
}

// Leaving the loop releases all that the stream has, and who never loops has
// nothing.
func TestChangesReleaseEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, memory.New(nil), materializer.Config{}, spec()).start()
		settle()
		before := goleak.IgnoreCurrent()
		for range 10 {
			changes := r.texts.Changes(t.Context(), materializer.Cursor{})
			r.append("a", "x")
			for _, err := range changes {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			r.texts.Changes(t.Context(), materializer.Cursor{})
		}
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
}
