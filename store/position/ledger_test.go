package position

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sets is what a ledger stands for.
type sets struct {
	start          Number
	open, finished map[Number]bool
	marks          map[*mark]bool
}

func (s *sets) free() Number {
	free := Number(math.MaxInt64)
	for n := range s.open {
		free = min(free, n-1)
	}
	for m := range s.marks {
		free = min(free, m.at)
	}
	return free
}

func (s *sets) written() Number {
	written := s.start
	for n := range s.finished {
		if n <= s.free() {
			written = max(written, n)
		}
	}
	return written
}

// Reservations return in any order, with numbers near and far, also below zero.
func TestLedgerModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := Number(rapid.SampledFrom([]int{0, -1000, 250, math.MinInt64 + 300, math.MaxInt64 - 200_000}).Draw(t, "start"))
		l := newLedger(start)
		s := &sets{start: start, open: map[Number]bool{}, finished: map[Number]bool{}, marks: map[*mark]bool{}}
		counter, seen, written := start, start, start
		var drawn []*mark
		numbers := map[*mark]Number{}
		for range 400 {
			switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
			case what < 3 && len(drawn) < 6:
				m := l.marks.add(seen)
				l.settle()
				s.marks[m] = true
				drawn = append(drawn, m)
			case what < 5 && len(drawn) > 0:
				m := drawn[rapid.IntRange(0, len(drawn)-1).Draw(t, "draw")]
				if numbers[m] == 0 {
					counter += 1 + Number(rapid.SampledFrom([]int{0, 0, 1, 70, 255, 256, 700}).Draw(t, "gap"))
					numbers[m] = counter
				}
			case what < 7 && len(drawn) > 0:
				i := rapid.IntRange(0, len(drawn)-1).Draw(t, "return")
				m := drawn[i]
				if n := numbers[m]; n != 0 {
					if !l.reserve(n) || l.reserve(n) {
						t.Fatalf("%d was not reserved once", n)
					}
					s.open[n] = true
					seen = max(seen, n)
				}
				l.unmark(m)
				delete(s.marks, m)
				drawn = slices.Delete(drawn, i, i+1)
			case what == 7: // another writer's number is heard of
				counter += Number(rapid.SampledFrom([]int{1, 70, 256, 700}).Draw(t, "other"))
				seen = counter
			case len(s.open) > 0:
				n := rapid.SampledFrom(slices.Sorted(maps.Keys(s.open))).Draw(t, "finish")
				if !l.finish(n) || l.finish(n) {
					t.Fatalf("%d was not finished once", n)
				}
				delete(s.open, n)
				s.finished[n] = true
			}
			idle := len(s.open)+len(s.marks) == 0
			if l.idle() != idle || l.open != len(s.open) || l.written != s.written() || !idle && l.free != s.free() {
				t.Fatalf("idle %t, open %d, written %d, free %d; want %t, %d, %d, %d",
					l.idle(), l.open, l.written, l.free, idle, len(s.open), s.written(), s.free())
			}
			if l.written < written {
				t.Fatalf("written went from %d back to %d", written, l.written)
			}
			written = l.written
			var open []Number
			l.numbers(func(n Number) { open = append(open, n) })
			if !slices.Equal(open, slices.Sorted(maps.Keys(s.open))) {
				t.Fatalf("open are %v", open)
			}
			checkPages(t, l)
		}
	})
}

// checkPages checks what must hold of the pages of a ledger.
func checkPages(t *rapid.T, l *ledger) {
	var prev *page
	pages, count := 0, 0
	for p := l.head; p != nil; p = p.next {
		if p.prev != prev || prev != nil && prev.index >= p.index || l.pages[p.index] != p {
			t.Fatalf("page %d is in the wrong place", p.index)
		}
		if p.count == 0 && p != l.tail && p.end() <= l.settled() {
			t.Fatalf("page %d has nothing open and is kept", p.index)
		}
		prev = p
		pages++
		count += p.count
	}
	if prev != l.tail || pages != len(l.pages) || count != l.open {
		t.Fatalf("%d pages of %d, %d open of %d", pages, len(l.pages), count, l.open)
	}
}

// Behind a reservation that hangs, and behind a slow position, a million numbers
// cost some pages at most; when it returns, they are gone.
func TestLedgerMemory(t *testing.T) {
	const million = 1_000_000
	l := newLedger(0)
	m := l.marks.add(0)
	for n := Number(2); n <= million; n += 2 { // the others are another writer's
		other := l.marks.add(n - 1)
		l.reserve(n)
		l.unmark(other)
		l.finish(n)
	}
	if l.written != 0 || len(l.pages) > million/pageSize+1 {
		t.Errorf("written %d, %d pages", l.written, len(l.pages))
	}
	l.reserve(1)
	l.unmark(m)
	if l.written != 0 || len(l.pages) > 2 {
		t.Errorf("after it returned written %d, %d pages", l.written, len(l.pages))
	}
	for n := Number(million + 2); n <= 2*million; n += 2 {
		l.reserve(n)
		l.finish(n)
		if len(l.pages) > 2 {
			t.Fatalf("at %d there are %d pages", n, len(l.pages))
		}
	}
	l.finish(1)
	if l.written != 2*million || len(l.pages) != 1 {
		t.Errorf("at the end written %d, %d pages", l.written, len(l.pages))
	}
}

func TestRunsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rs runs
		known := map[Number]bool{}
		from := Number(0)
		for range 200 {
			n := from + 1 + Number(rapid.IntRange(0, 40).Draw(t, "number"))
			rs.add(n)
			known[n] = true
			if rapid.IntRange(0, 9).Draw(t, "move") == 0 {
				from += Number(rapid.IntRange(0, 10).Draw(t, "by"))
				got := rs.from(from)
				for known[from+1] {
					from++
				}
				if got != from {
					t.Fatalf("complete up to %d, want %d", got, from)
				}
			}
			want := 0
			for n := range known {
				if n > from && !known[n-1] {
					want++
				}
			}
			if known[from+1] && known[from] && from > 0 {
				want++ // begins at or below, and was not asked for yet
			}
			last := Number(-1)
			for _, r := range rs {
				if r.lo > r.hi || r.lo <= last+1 && last >= 0 {
					t.Fatalf("runs are %v", rs)
				}
				last = r.hi
			}
			if len(rs) != want {
				t.Fatalf("runs are %v, want %d", rs, want)
			}
		}
	})
}

func TestRunsAreBounded(t *testing.T) {
	var rs runs
	for n := Number(3); n < 3+4*maxRuns; n += 2 {
		rs.add(n)
	}
	if len(rs) != maxRuns || rs[0].lo != 3 {
		t.Errorf("%d runs from %v", len(rs), rs[0])
	}
	rs.add(1) // lower ones push out higher ones
	if len(rs) != maxRuns || rs.from(0) != 1 {
		t.Errorf("%d runs from %v", len(rs), rs[0])
	}
}
