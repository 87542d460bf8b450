package position

import (
	"context"
	"fmt"
)

// Reserve draws a position for a fact that is about to be stored. It is open until
// it is finished, and nothing of the writer beyond it is complete before. Errors:
// [ErrFenced] if the life is over; [ErrAllocator]; what the allocator returns.
func (m *Member) Reserve(ctx context.Context) (Position, error) {
	if m.tracker.allocate == nil {
		n, err := m.count(1)
		if err != nil {
			return Position{}, err
		}
		return Position{Writer: m.record.writer, Number: n}, nil
	}
	ps, err := m.draw(ctx, 1)
	if err != nil {
		return Position{}, err
	}
	return ps[0], nil
}

// ReserveMany draws n positions like Reserve, in ascending order. They need not
// follow each other. It draws nothing if n is 0 or less.
func (m *Member) ReserveMany(ctx context.Context, n int) ([]Position, error) {
	if n <= 0 {
		return nil, nil
	}
	if m.tracker.allocate != nil {
		return m.draw(ctx, n)
	}
	first, err := m.count(n)
	if err != nil {
		return nil, err
	}
	ps := make([]Position, n)
	for i := range ps {
		ps[i] = Position{Writer: m.record.writer, Number: first + Number(i)}
	}
	return ps, nil
}

// count draws the next n numbers of the tracker's own counter. It needs no mark,
// as the lock is held from drawing to registering.
func (m *Member) count(n int) (first Number, err error) {
	t := m.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := m.aliveLocked(); err != nil {
		return 0, err
	}
	if t.seen > MaxNumber-Number(n) {
		return 0, m.fail(ErrAllocator, fmt.Sprintf("no numbers above %d", t.seen))
	}
	m.freezeLocked()
	first = t.seen + 1
	for i := range n {
		m.ledger.reserve(first + Number(i))
	}
	t.seen += Number(n)
	t.ledgerLocked(m.record)
	if len(t.watched) > 0 { // somebody may wait for another that is idle, and claims more now
		t.moveLocked()
	}
	return first, nil
}

// draw draws n numbers from the allocator. A mark stands for them from before
// they are drawn until they are registered: without it a report of another writer
// could move the completed position past a number that only the allocator knows.
func (m *Member) draw(ctx context.Context, n int) ([]Position, error) {
	mk, err := m.mark()
	if err != nil {
		return nil, err
	}
	var drawn []Stored
	err = fmt.Errorf("%w: it did not return", ErrAllocator)
	defer func() {
		if mk != nil { // the allocator panicked
			_, _ = m.register(mk, nil, 0, err)
		}
	}()
	drawn, err = m.tracker.allocate(ctx, n, m.tracker.direction.Stored(mk.at))
	ps, err := m.register(mk, drawn, n, err)
	mk = nil
	return ps, err
}

func (m *Member) mark() (*mark, error) {
	t := m.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := m.aliveLocked(); err != nil {
		return nil, err
	}
	m.freezeLocked()
	mk := m.ledger.marks.add(t.seen)
	m.ledger.settle()
	t.ledgerLocked(m.record)
	return mk, nil
}

// freezeLocked keeps what the writer could claim while it was idle.
func (m *Member) freezeLocked() {
	if m.ledger.idle() {
		m.record.claimed = max(m.record.claimed, m.tracker.seen)
	}
}

// register makes the numbers drawn under a mark open, or burns them if there was
// an error, and takes the mark away.
func (m *Member) register(mk *mark, drawn []Stored, n int, err error) ([]Position, error) {
	t := m.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	var ps []Position
	if err == nil {
		err = m.aliveLocked()
	}
	if err == nil {
		ps, err = m.openLocked(mk, drawn, n)
	}
	m.ledger.unmark(mk)
	if m.record.life == m {
		t.ledgerLocked(m.record)
		t.moveLocked()
	}
	return ps, err
}

// openLocked makes the numbers drawn under a mark open, all or none.
func (m *Member) openLocked(mk *mark, drawn []Stored, n int) ([]Position, error) {
	t := m.tracker
	if len(drawn) != n {
		return nil, m.fail(ErrAllocator, fmt.Sprintf("%d numbers were drawn, %d asked for", len(drawn), n))
	}
	ps := make([]Position, n)
	for i, s := range drawn {
		ps[i] = t.direction.At(m.record.writer, s)
		var problem string
		switch at := ps[i].Number; {
		case at <= mk.at:
			problem = fmt.Sprintf("not above %d, the counter has to be moved forward", mk.at)
		case at > MaxNumber:
			problem = fmt.Sprintf("above %d", MaxNumber)
		case !m.ledger.reserve(at):
			problem = "for the second time"
		default:
			t.seenLocked(at)
			continue
		}
		for _, p := range ps[:i] {
			m.ledger.finish(p.Number)
		}
		return nil, m.fail(ErrAllocator, fmt.Sprintf("drew %d, %s", ps[i].Number, problem))
	}
	sortPositions(ps)
	return ps, nil
}
