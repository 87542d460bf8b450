package position

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

// Allocator draws n numbers from the counter of a stream, as a sequence of a
// database does. Each number is greater, in the direction of the stream, than
// every number drawn before by anybody, and than after, which lies at or beyond
// all that the tracker knows of: a counter that was set back, as by restoring a
// backup, is moved beyond after first. They need not follow each other. Numbers
// that come with an error are never used.
type Allocator func(ctx context.Context, n int, after Stored) ([]Stored, error)

// Options are the options of a tracker. The zero value is a stream that goes up
// from 1, all of whose writers are in this process.
type Options struct {
	// Direction is that of the stored numbers.
	Direction Direction
	// Origin is the number before the first, in the order of the stream.
	Origin Number
	// Allocate draws numbers. If it is nil, the tracker counts from Origin itself.
	Allocate Allocator
}

// Tracker knows up to where one stream is complete: for each writer and for all.
// A process has one for each stream; writers of this process join it, those of
// others are admitted and heard of. All methods may be called concurrently.
type Tracker struct {
	direction Direction
	allocate  Allocator // or nil

	// mu guards the following fields, and the ledgers of the members. It is never
	// held while drawing numbers or waiting.
	mu      sync.Mutex
	records map[Writer]*record
	live    int // how many records are Live
	remote  int // how many of them are written to by other processes
	// upTo is the completed position: everything at or before it, of any writer,
	// is complete. It never falls.
	upTo Number
	// seen is the greatest number known to be drawn. It is never below upTo.
	seen Number
	// ended is the greatest completed position of the writers that are not live.
	ended Number
	// known are complete numbers above upTo.
	known runs
	// holding has the live writers that hold the completed position back, by the
	// number up to which they let it go.
	holding heap[*record]
	// waiting has those who wait for upTo.
	waiting heap[*waiter]
	// watched are the records that somebody waits for, or did at the last change.
	watched []*record
	// signal is closed at the next change, if somebody listens; else it is nil.
	signal chan struct{}
}

// record is what a tracker knows about one writer. It outlives the writer's lives.
type record struct {
	writer Writer
	epoch  Epoch // of the last life
	state  State
	life   *Member // the life, if it is live and in this process; else nil
	owned  bool    // whether its reports come from this process
	// at is the writer's position: in this process where it joined or what it wrote
	// since, in another one what was last heard of.
	at Number
	// wrote is the greatest number known to be written by the writer and complete.
	wrote Number
	// claimed is the greatest number up to which the writer's positions are
	// complete, as of its last change; never below at. An idle writer can claim more.
	claimed Number
	holding slot[*record]
	waiting heap[*waiter]
	holes   []Hole
}

// NewTracker returns a tracker without writers, complete up to its origin.
func NewTracker(o Options) *Tracker {
	return &Tracker{
		direction: o.Direction,
		allocate:  o.Allocate,
		records:   map[Writer]*record{},
		upTo:      o.Origin,
		seen:      o.Origin,
		ended:     o.Origin,
	}
}

// Direction returns the direction of the stream.
func (t *Tracker) Direction() Direction { return t.direction }

// Completed returns the number up to which the stream is complete, whoever wrote.
func (t *Tracker) Completed() Number {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.upTo
}

// CompletedBy returns the position up to which everything of one writer is
// complete. While the writer is idle, or is not known, that can be a number of
// another.
func (t *Tracker) CompletedBy(w Writer) Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.records[w]; r != nil {
		return Position{Writer: w, Number: t.completedLocked(r)}
	}
	return Position{Writer: w, Number: t.upTo}
}

// WrittenBy returns the last position of a writer that has nothing open before
// it: the least that a reader must have to read what the writer wrote. For a
// writer of another process it is the position last heard of.
func (t *Tracker) WrittenBy(w Writer) Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.records[w]; r != nil {
		return Position{Writer: w, Number: r.at}
	}
	return Position{Writer: w, Number: t.upTo}
}

// Token returns the cut of all that is complete: the completed position, and the
// writers that have written beyond it. Later tokens are never before earlier ones.
func (t *Tracker) Token() Token {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ahead []Position
	for w, r := range t.records {
		if r.at > t.upTo {
			ahead = append(ahead, Position{Writer: w, Number: r.at})
		}
	}
	return Token{min: t.upTo, ahead: pack(ahead)}
}

// Seen returns the greatest number that is known to be drawn, at or beyond
// everything that is complete. A counter that was set back has to be moved beyond
// it.
func (t *Tracker) Seen() Number {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen
}

// Knows reports whether a writer was ever admitted. It is made for
// [ParseTokenOf].
func (t *Tracker) Knows(w Writer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.records[w] != nil
}

// Saw says that a position is complete because its fact was read. It says nothing
// about lower positions of the writer, who need not be known.
func (t *Tracker) Saw(p Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seenLocked(p.Number)
	t.learnLocked(p.Number)
	t.moveLocked()
}

// Stats are figures to watch.
type Stats struct {
	Completed Number // the completed position
	Seen      Number // the greatest number known to be drawn
	Live      int    // writers that are live
	Holding   int    // writers that hold the completed position back
	Slowest   Writer // the one that holds it back most, or 0
	Open      int    // positions of this process that are open
	Reserving int    // reservations of this process that are under way
	Pages     int    // pages of 256 numbers in memory for these
	Waiting   int    // waits for what is not complete
	Runs      int    // runs of numbers known to be complete beyond Completed
}

// Stats returns the figures of now.
func (t *Tracker) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Stats{Completed: t.upTo, Seen: t.seen, Live: t.live, Holding: len(t.holding), Runs: len(t.known)}
	if top := t.holding.top(); top != nil {
		s.Slowest = top.owner.writer
	}
	s.Waiting = len(t.waiting)
	for _, r := range t.records {
		s.Waiting += len(r.waiting)
		if r.life == nil {
			continue
		}
		s.Open += r.life.ledger.open
		s.Pages += len(r.life.ledger.pages)
		for m := r.life.ledger.marks.first; m != nil; m = m.next {
			s.Reserving++
		}
	}
	return s
}

// completedLocked returns up to where everything of a writer is complete.
func (t *Tracker) completedLocked(r *record) Number {
	if r.life != nil && r.life.ledger.idle() {
		return t.seen // it is never below the others
	}
	return max(r.claimed, t.upTo)
}

// recordLocked returns the record of a writer, a new one if it has none.
func (t *Tracker) recordLocked(w Writer) *record {
	r := t.records[w]
	if r == nil {
		r = &record{writer: w, at: t.upTo, wrote: t.upTo, claimed: t.upTo}
		r.holding.owner = r
		t.records[w] = r
	}
	return r
}

// sortedLocked returns the records by ascending writer.
func (t *Tracker) sortedLocked() []*record {
	rs := make([]*record, 0, len(t.records))
	for _, r := range t.records {
		rs = append(rs, r)
	}
	slices.SortFunc(rs, func(a, b *record) int { return cmp.Compare(a.writer, b.writer) })
	return rs
}
