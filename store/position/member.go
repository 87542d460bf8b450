package position

import (
	"context"
	"fmt"
)

// Member is one life of a writer in this process: from joining until it leaves or
// is fenced. All methods may be called concurrently.
type Member struct {
	tracker *Tracker
	record  *record
	epoch   Epoch
	ledger  *ledger // guarded by the tracker's mu
}

// Join makes a writer of this process live. A new or returning writer starts at
// the completed position, or at its own if that is further. It has to be stored
// and admitted by the other processes before it reserves. Errors, as a
// [WriterError]: [ErrLive] if the writer is alive, in whatever epoch; [ErrFenced]
// if the epoch is not greater than all it had, or 0; [ErrTooMany]; [ErrUnknown]
// if it is out of range.
func (t *Tracker) Join(w Writer, e Epoch) (*Member, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, err := t.liveLocked(w, e, Live)
	if err != nil {
		return nil, err
	}
	start := max(r.claimed, t.upTo)
	m := &Member{tracker: t, record: r, epoch: e, ledger: newLedger(start)}
	r.life, r.owned = m, true
	r.at, r.claimed = start, start
	t.moveLocked()
	return m, nil
}

// liveLocked begins a life of a writer, which may be known to have ended since.
func (t *Tracker) liveLocked(w Writer, e Epoch, now State) (*record, error) {
	fail := func(err error, detail string) error {
		return &WriterError{Writer: w, Epoch: e, Err: err, Detail: detail}
	}
	if !w.valid() {
		return nil, fail(ErrUnknown, fmt.Sprintf("want 1 to %d", MaxWriter))
	}
	r := t.records[w]
	switch {
	case r != nil && r.state == Live && e > r.epoch:
		return nil, fail(ErrLive, fmt.Sprintf("epoch %d has to be fenced first", r.epoch))
	case r != nil && r.state == Live && e == r.epoch:
		return nil, fail(ErrLive, "in this epoch")
	case e == 0 || r != nil && e <= r.epoch:
		return nil, fail(ErrFenced, "the epoch of a new life is greater than all before")
	case t.live >= MaxWriters && now == Live:
		return nil, fail(ErrTooMany, fmt.Sprintf("%d are alive", t.live))
	}
	r = t.recordLocked(w)
	r.epoch, r.state, r.holes = e, Live, nil
	t.live++
	return r, nil
}

// endLocked ends the life of a writer, if it has one: it holds nobody back then.
func (t *Tracker) endLocked(r *record, how State) {
	if r.state == Live {
		t.live--
		if r.life == nil {
			t.remote--
		}
	}
	r.state, r.life = how, nil
	t.holding.remove(&r.holding)
	t.ended = max(t.ended, r.claimed)
}

// Writer returns the writer.
func (m *Member) Writer() Writer { return m.record.writer }

// Epoch returns the epoch of this life.
func (m *Member) Epoch() Epoch { return m.epoch }

// Leave ends the life of the writer. What it wrote stays complete, and the
// completed position does not wait for it any more. Errors: [ErrOpen] if anything
// is open or being reserved; [ErrFenced] if the life is over.
func (m *Member) Leave() error {
	t := m.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := m.aliveLocked(); err != nil {
		return err
	}
	if !m.ledger.idle() {
		return m.fail(ErrOpen, fmt.Sprintf("%d of them", m.ledger.open))
	}
	m.record.claimed = max(m.record.claimed, t.seen)
	t.endLocked(m.record, Left)
	t.moveLocked()
	return nil
}

// Do reserves a position, calls commit with it, and finishes it, whether commit
// succeeds, fails or panics. What takes long is done before, so that commit only
// writes. It returns the error of commit, or else those of Reserve or Finish.
func (m *Member) Do(ctx context.Context, commit func(context.Context, Position) error) (err error) {
	p, err := m.Reserve(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e := m.Finish(p); err == nil {
			err = e
		}
	}()
	return commit(ctx, p)
}

func (m *Member) aliveLocked() error {
	if m.record.life != m {
		return m.fail(ErrFenced, "")
	}
	return nil
}

func (m *Member) fail(err error, detail string) error {
	return &WriterError{Writer: m.record.writer, Epoch: m.epoch, Err: err, Detail: detail}
}
