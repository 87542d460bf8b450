package position

import (
	"cmp"
	"fmt"
	"slices"
)

// Finish says that positions are complete: their facts are committed and readable,
// or will never be. It is called after success and after failure. In any order
// and number, finishing costs a look-up, whatever else is open. Errors:
// [ErrNotOpen] for the first that is not open, the others are finished all the
// same; [ErrFenced] if the life is over, after which nothing of it can be
// committed.
func (m *Member) Finish(ps ...Position) error {
	t := m.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := m.aliveLocked(); err != nil {
		return err
	}
	var failed error
	for _, p := range ps {
		if p.Writer != m.record.writer || !m.ledger.finish(p.Number) {
			if failed == nil {
				failed = m.fail(ErrNotOpen, fmt.Sprintf("position %s", p))
			}
			continue
		}
		if t.remote > 0 { // otherwise the ledgers here know all that is open
			t.learnLocked(p.Number)
		}
	}
	t.ledgerLocked(m.record)
	t.moveLocked()
	return failed
}

func sortPositions(ps []Position) {
	slices.SortFunc(ps, func(a, b Position) int { return cmp.Compare(a.Number, b.Number) })
}
