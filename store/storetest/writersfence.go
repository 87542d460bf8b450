package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/position"
)

var fenceChecks = []check{
	{"what a fenced writer has under way is refused, and holds nobody back", func(f *fixture) {
		second := f.secondWriter()
		f.append(key("c"), "1")
		open := f.stall(store.Append{Key: key("a"), Entries: entries("1", "2")})
		second.append(key("b"), "1")
		end := second.end()
		w, epoch := writer(f, f.b)
		holes := mustFence(second, w, epoch)
		mustHaveHoles(f, holes, w, 2)
		if s := standing(second, w); s.State != position.Fenced {
			f.Errorf("of the fenced writer is stored %s", s)
		}
		if c := cut(f, second.end()); c.Max() != c.Min() {
			f.Errorf("the end is %s after the fence, and nothing is open", second.end())
		}
		// Before it gets to know.
		ctx, cancel := context.WithTimeout(background, soon)
		defer cancel()
		if _, err := second.b.Append(ctx, []store.Append{{Key: key("a"), Entries: entries("other")}}); err != nil {
			f.Fatalf("an append to a document of the fenced writer: %v", err)
		}
		mustLogged(second, end, store.Token{}, "a1")

		open.goOn()
		open.mustBeFenced()
		for _, g := range []*fixture{f, second} {
			mustLogged(g, end, store.Token{}, "a1")
			mustLogged(g, store.Token{}, store.Token{}, "c1 b1 a1")
			mustResolve(g, g.end(), "[1 1 1]", key("a"), key("b"), key("c"))
			if d := g.load(key("a")); d.Head != 1 {
				f.Errorf("the document has %d operations, want that of the other writer", d.Head)
			}
		}
	}},
	{"every later append of its handle is refused", func(f *fixture) {
		second := f.secondWriter()
		f.append(key("a"), "1")
		w, epoch := writer(f, f.b)
		if holes := mustFence(second, w, epoch); len(holes) != 0 {
			f.Errorf("a writer with nothing open left %v", holes)
		}
		for range 3 {
			err := f.refuse(store.ErrFenced, store.Append{Key: key("a"), Entries: entries("x")}, store.Append{Key: key("new"), Entries: entries("x")})
			if errors.Is(err, store.ErrInDoubt) {
				f.Errorf("%v is in doubt", err)
			}
		}
		second.append(key("a"), "2")
		mustLogged(f, store.Token{}, store.Token{}, "a1 a2")
	}},
	{"fencing may be repeated", func(f *fixture) {
		second := f.secondWriter()
		open := f.stall(store.Append{Key: key("a"), Entries: entries("1")})
		w, epoch := writer(f, f.b)
		first := mustFence(second, w, epoch)
		end := second.end()
		if again := mustFence(second, w, epoch); fmt.Sprint(again) != fmt.Sprint(first) {
			f.Errorf("holes were %v and are %v", first, again)
		}
		if second.end() != end {
			f.Errorf("the end was %s and is %s", end, second.end())
		}
		open.goOn()
		open.mustBeFenced()
	}},
	{"a writer that never was is not found", func(f *fixture) {
		second := f.secondWriter()
		for _, w := range []store.Writer{0, 4711, position.MaxWriter} {
			if _, err := second.b.(store.Writers).Fence(background, w, 1); !errors.Is(err, store.ErrNotFound) {
				f.Errorf("fencing writer %d: %v", w, err)
			}
		}
	}},
	{"a fence of an earlier life is refused", func(f *fixture) {
		f.secondWriter()
		before := standings(f)
		f.reopen()
		w, epoch := writer(f, f.b)
		for _, s := range before {
			if s.Writer == w {
				if _, err := f.b.(store.Writers).Fence(background, w, s.Epoch); !errors.Is(err, store.ErrFenced) {
					f.Errorf("fencing epoch %d of a writer in %d: %v", s.Epoch, epoch, err)
				}
			}
		}
		f.append(key("a"), "it is alive")
	}},
	{"who was fenced can be opened again", func(f *fixture) {
		second := f.secondWriter()
		w, epoch := writer(f, f.b)
		f.append(key("a"), "1")
		mustFence(second, w, epoch)
		f.reopen()
		now, again := writer(f, f.b)
		if now == w && again <= epoch {
			f.Errorf("writer %d is opened in epoch %d, and was fenced in %d", now, again, epoch)
		}
		if s := standing(second, now); s.State != position.Live || s.Epoch != again {
			f.Errorf("of it is stored %s", s)
		}
		token := f.appendAll(store.Append{Key: key("a"), Entries: entries("2")}).Token
		mustLogged(second, store.Token{}, token, "a1 a2")
	}},
	{"fencing a stalled writer skips none of the others", func(f *fixture) {
		second, third := f.secondWriter(), f.secondWriter()
		lost := f.stall(store.Append{Key: key("lost"), Entries: entries("1")})
		late := second.stall(store.Append{Key: key("late"), Entries: entries("1")})
		third.append(key("a"), "1")
		w, epoch := writer(f, f.b)
		mustFence(third, w, epoch)
		end := third.end()
		mustLogged(third, store.Token{}, end, "a1")
		late.goOn()
		late.mustSucceed()
		mustLogged(third, end, store.Token{}, "late1")
		lost.goOn()
		lost.mustBeFenced()
		mustLogged(third, end, store.Token{}, "late1")
		if c := cut(f, third.end()); c.Max() != c.Min() {
			f.Errorf("the end is %s, and nothing is open", third.end())
		}
	}},
	{"a fence ended with its context fences nobody", func(f *fixture) {
		second := f.secondWriter()
		w, epoch := writer(f, f.b)
		if _, err := second.b.(store.Writers).Fence(ended(), w, epoch); !errors.Is(err, errStopped) {
			f.Errorf("Fence with a context that has ended: %v", err)
		}
		f.append(key("a"), "1")
	}},
}

func mustFence(f *fixture, w store.Writer, epoch position.Epoch) []position.Hole {
	f.Helper()
	holes, err := f.b.(store.Writers).Fence(background, w, epoch)
	if err != nil {
		f.Fatalf("Fence of writer %d in epoch %d: %v", w, epoch, err)
	}
	return holes
}

// mustHaveHoles checks that holes are of a writer, hide no operation, and have room
// for as many as it had drawn.
func mustHaveHoles(f *fixture, holes []position.Hole, w store.Writer, drawn int) {
	f.Helper()
	room := 0
	for _, h := range holes {
		if h.Writer != w || h.First > h.Last {
			f.Errorf("hole is %+v", h)
		}
		room += int(h.Last-h.First) + 1
		for _, l := range mustLog(f, store.Token{}, store.Token{}) {
			if l.Writer == w && l.Position >= h.First && l.Position <= h.Last {
				f.Errorf("in the hole %+v is operation %d of %s", h, l.Seq, l.Key)
			}
		}
	}
	if room < drawn {
		f.Errorf("the holes %v have room for %d, %d were drawn", holes, room, drawn)
	}
}
