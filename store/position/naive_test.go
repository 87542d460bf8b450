package position_test

import (
	"maps"
	"math"
	"slices"

	"github.com/refold-go/refold/store/position"
)

// naive is a tracker that keeps every number in a set and looks through all of
// them each time. It takes the same calls and refuses none.
type naive struct {
	writers          map[position.Writer]*naiveWriter
	upTo, seen, past position.Number
	known            map[position.Number]bool
}

type naiveWriter struct {
	live, local    bool
	at, claim      position.Number
	open, finished map[position.Number]bool
	marks          []position.Number
}

func newNaive() *naive {
	return &naive{writers: map[position.Writer]*naiveWriter{}, known: map[position.Number]bool{}}
}

func (n *naive) start(w position.Writer, local bool, from position.Number) {
	nw := n.writers[w]
	if nw == nil {
		nw = &naiveWriter{}
		n.writers[w] = nw
	}
	start := max(nw.claim, from, n.upTo)
	*nw = naiveWriter{live: true, local: local, at: start, claim: start, open: map[position.Number]bool{}, finished: map[position.Number]bool{}}
	n.seen = max(n.seen, start)
	n.move()
}

func (n *naive) mark(w position.Writer) position.Number {
	nw := n.writers[w]
	n.freeze(nw)
	nw.marks = append(nw.marks, n.seen)
	return n.seen
}

func (n *naive) register(w position.Writer, mark position.Number, numbers ...position.Number) {
	nw := n.writers[w]
	if i := slices.Index(nw.marks, mark); i >= 0 {
		nw.marks = slices.Delete(nw.marks, i, i+1)
	}
	for _, number := range numbers {
		nw.open[number] = true
		n.seen = max(n.seen, number)
	}
	n.written(nw)
	n.move()
}

func (n *naive) finish(w position.Writer, number position.Number) {
	nw := n.writers[w]
	delete(nw.open, number)
	nw.finished[number] = true
	n.written(nw)
	for _, other := range n.writers {
		if other.live && !other.local {
			n.known[number] = true
		}
	}
	n.move()
}

func (n *naive) end(w position.Writer, claim position.Number) {
	nw := n.writers[w]
	for number := range nw.open {
		n.known[number] = true
		claim = max(claim, number)
	}
	n.seen = max(n.seen, claim)
	nw.claim = max(nw.claim, claim)
	nw.live, nw.at, nw.open, nw.marks = false, nw.claim, nil, nil
	n.past = max(n.past, nw.claim)
	n.move()
}

func (n *naive) leave(w position.Writer) {
	wrote := n.writers[w].at
	n.end(w, n.seen)
	n.writers[w].at = wrote
}

func (n *naive) hear(w position.Writer, completed, written position.Number) {
	n.seen = max(n.seen, completed, written)
	n.known[written] = true
	if nw := n.writers[w]; nw.live && !nw.local {
		nw.claim = max(nw.claim, completed)
		nw.at = nw.claim
	}
	n.move()
}

func (n *naive) freeze(nw *naiveWriter) {
	if len(nw.open)+len(nw.marks) == 0 {
		nw.claim = max(nw.claim, n.seen)
	}
}

// free is the number up to which a writer of this process has nothing open.
func (nw *naiveWriter) free() position.Number {
	free := position.Number(math.MaxInt64)
	for number := range nw.open {
		free = min(free, number-1)
	}
	for _, mark := range nw.marks {
		free = min(free, mark)
	}
	return free
}

func (n *naive) written(nw *naiveWriter) {
	for number := range nw.finished {
		if number <= nw.free() {
			nw.at = max(nw.at, number)
		}
	}
	nw.claim = max(nw.claim, nw.at)
}

func (n *naive) move() {
	held, live := position.Number(math.MaxInt64), false
	for _, nw := range n.writers {
		live = live || nw.live
		switch {
		case nw.live && nw.local:
			held = min(held, nw.free())
		case nw.live:
			held = min(held, nw.claim)
		}
	}
	switch {
	case held < math.MaxInt64:
		n.upTo = max(n.upTo, held)
	case live:
		n.upTo = max(n.upTo, n.seen)
	default:
		n.upTo = max(n.upTo, n.past)
	}
	for n.known[n.upTo+1] {
		n.upTo++
	}
	n.seen = max(n.seen, n.upTo)
}

func (n *naive) completedBy(w position.Writer) position.Number {
	nw := n.writers[w]
	if nw == nil {
		return n.upTo
	}
	if nw.live && nw.local && len(nw.open)+len(nw.marks) == 0 {
		return n.seen
	}
	return max(nw.claim, n.upTo)
}

func (n *naive) token() (position.Token, error) {
	var ahead []position.Position
	for _, w := range slices.Sorted(maps.Keys(n.writers)) {
		if p := at(w, n.writers[w].at); p.Number > n.upTo {
			ahead = append(ahead, p)
		}
	}
	return position.NewToken(n.upTo, ahead...)
}
