package materializer_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/memory"
)

// A fold that changes its state in place and fails half way leaves no trace: the
// state is dropped, and the good prefix is folded again from the stored bytes.
func TestFailedFoldLeavesNoTrace(t *testing.T) {
	for _, bad := range []string{"!fail", "!permanent", "!panic"} {
		t.Run(bad, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := spec()
				s.Retry.Attempts = 1
				r := newRig(t, memory.New(nil), materializer.Config{}, s).start()
				r.append("a", "one", "two")
				settle()
				err := r.m.Wait(t.Context(), r.append("a", "three", "four", bad, "six"))
				wantErr(t, err, materializer.ErrParked)
				r.wantView("a", "one two three four", 4, 6)
				r.wantParked("a", 5, 1, "planted")
			})
		})
	}
}

// counts is a state that is all memory: a map, a slice and a pointer.
type counts struct {
	Words map[string]int
	Order []string
	Last  *string
}

// Views share no memory with the engine, nor with each other.
func TestViewsShareNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := materializer.New(memory.New(nil), materializer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := materializer.Register(m, materializer.Spec[*counts, word]{
			Name: "counts", Version: 1,
			Fold: func(s *counts, op materializer.Operation[word]) (*counts, error) {
				if s == nil {
					s = &counts{Words: map[string]int{}}
				}
				s.Words[op.Body.Text]++
				s.Order = append(s.Order, op.Body.Text)
				s.Last = &s.Order[len(s.Order)-1]
				return s, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		runToTheEnd(t, m)
		spoil := func(v materializer.View[*counts], err error) {
			t.Helper()
			if err != nil || v.State.Words["x"] != int(v.Applied) || strings.Join(v.State.Order, "") != strings.Repeat("x", int(v.Applied)) || *v.State.Last != "x" {
				t.Errorf("got %+v, %v, want x as often as applied", v.State, err)
				return
			}
			v.State.Words["x"] = -100
			v.State.Order[0] = "spoiled"
			*v.State.Last = "spoiled"
		}
		for range 3 {
			token, err := c.Append(t.Context(), "a", word{"x"})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				spoil(c.Get(t.Context(), "a", materializer.AtLeast(token)))
				spoil(c.Latest(t.Context(), "a"))
				views, err := c.GetMany(t.Context(), "a", "a")
				if err != nil {
					t.Fatal(err)
				}
				spoil(views[0], nil)
				spoil(views[1], nil)
				for v, err := range c.All(t.Context()) {
					spoil(v, err)
				}
			}
		}
	})
}

// A document never has two folds at once, and different ones have.
func TestFoldsOfDifferentDocumentsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHold()
		r := newRig(t, memory.New(nil), materializer.Config{Workers: 3}, specOf(h.fold)).start()
		for _, id := range []string{"a", "b", "c"} {
			r.append(id, "hold")
			if got := <-h.reached; got != id {
				t.Errorf("%s is in the fold, want %s", got, id)
			}
		}
		r.append("a", "hold")
		settle()
		select {
		case id := <-h.reached:
			t.Errorf("%s is in the fold twice", id)
		default:
		}
		go func() { <-h.reached }()
		close(h.goOn)
		settle()
		r.wantClean()
	})
}
