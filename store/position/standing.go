package position

import "fmt"

// State is what became of a writer.
type State uint8

// The states. The zero value is Live.
//
//	(unknown) ──Join, Admit──▶ Live ──Leave──▶ Left ────Join, Admit, greater epoch──▶ Live
//	                           Live ──Fence──▶ Fenced ──Join, Admit, greater epoch──▶ Live
const (
	Live   State = iota // it can write
	Left                // it left, with nothing open
	Fenced              // it was declared dead; what it had open will never be
)

func (s State) String() string {
	return [...]string{"live", "left", "fenced"}[min(s, Fenced)]
}

// Hole is a run of numbers, both ends included, at which nothing of a writer that
// is not visible by now will ever be: the writer reserved them and was fenced.
// Numbers of other writers may lie among them.
type Hole struct {
	Writer      Writer
	First, Last Number
}

// Standing is what is stored about a writer, and what one process tells the
// others about it.
type Standing struct {
	Writer Writer
	Epoch  Epoch
	State  State
	// Completed is the number up to which everything of the writer is complete.
	Completed Number
	// Written is the greatest number at or below Completed that is known to be
	// written by the writer itself, and so to be complete for all.
	Written Number
	// Holes are what the writer had open when it was fenced, as far as this
	// process knows. They are told once, and are not needed to be complete.
	Holes []Hole
}

func (s Standing) String() string {
	return fmt.Sprintf("writer %d, epoch %d, %s, completed %d, written %d", s.Writer, s.Epoch, s.State, s.Completed, s.Written)
}

// Standings returns what is known about each writer that was ever admitted, by
// ascending writer. Stored and given to [Tracker.Admit] after a restart, they let
// a tracker go on from where this one is.
func (t *Tracker) Standings() []Standing {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Standing, 0, len(t.records))
	for _, r := range t.sortedLocked() {
		all = append(all, t.standingLocked(r))
	}
	return all
}

// Standing returns what is known about the writer of this life.
func (m *Member) Standing() Standing {
	m.tracker.mu.Lock()
	defer m.tracker.mu.Unlock()
	return m.tracker.standingLocked(m.record)
}

func (t *Tracker) standingLocked(r *record) Standing {
	return Standing{
		Writer: r.writer, Epoch: r.epoch, State: r.state,
		Completed: t.completedLocked(r), Written: r.wrote, Holes: r.holes,
	}
}
