package dispatcher

import (
	"cmp"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// model is the table as one would write it without a thought of cost.
type model struct {
	limit, takers int
	documents     map[store.Key]*modelDocument // an idle one is not in it
	queue         []store.Key
	counts        Counts
	turn          uint32
	reread        bool
	rereadAt      time.Time
	poked         bool // since the last look
}

type modelDocument struct {
	state State
	turn  uint32
	due   time.Time
}

func (m *model) state(k store.Key) State {
	if d := m.documents[k]; d != nil {
		return d.state
	}
	return Idle
}

func (m *model) full() bool      { return m.counts.Queued+m.counts.Running >= m.limit }
func (m *model) wantsRead() bool { return m.reread && m.counts.Queued+m.counts.Running <= m.limit/2 }

func (m *model) signal(k store.Key) bool {
	m.counts.Signals++
	d := m.documents[k]
	switch {
	case d == nil && m.full():
		m.counts.Overflowed++
		m.reread = true
		return false
	case d == nil:
		m.documents[k] = new(modelDocument)
		m.push(k)
		return true
	case d.state == Running:
		d.state = Requeue
	}
	m.counts.Absorbed++
	return true
}

func (m *model) push(k store.Key) {
	*m.documents[k] = modelDocument{state: Queued}
	m.queue = append(m.queue, k)
	m.counts.Queued++
}

func (m *model) take(size int) []store.Key {
	n := min(size, (len(m.queue)+m.takers-1)/m.takers)
	taken := slices.Clone(m.queue[:n])
	m.queue = m.queue[n:]
	for _, k := range taken {
		m.turn++
		*m.documents[k] = modelDocument{state: Running, turn: m.turn}
	}
	m.counts.Queued -= n
	m.counts.Running += n
	m.counts.Takes += int64(n)
	return taken
}

// done reports whether the ticket was accepted and whether signals sent the
// document round again.
func (m *model) done(k store.Key, turn uint32, r Result) (accepted, requeued bool) {
	d := m.documents[k]
	if d == nil || d.turn != turn {
		return false, false
	}
	flag := d.state == Requeue
	m.counts.Running--
	switch {
	case r.Verdict == Park && !flag:
		delete(m.documents, k)
	case r.Verdict == Delay:
		m.delayAny(k, r.Until)
	case r.Verdict == Again || flag:
		m.push(k)
		requeued = flag
	default:
		delete(m.documents, k)
	}
	if requeued {
		m.counts.Requeues++
	}
	return true, requeued
}

func (m *model) delay(k store.Key, due time.Time) {
	if m.documents[k] == nil {
		m.documents[k] = new(modelDocument)
		m.delayAny(k, due)
	}
}

func (m *model) delayAny(k store.Key, due time.Time) {
	m.poked = true
	if m.counts.Delayed < m.limit {
		*m.documents[k] = modelDocument{state: Delayed, due: due}
		m.counts.Delayed++
		return
	}
	delete(m.documents, k)
	if m.rereadAt.IsZero() || due.Before(m.rereadAt) {
		m.rereadAt = due
	}
}

func (m *model) wake(now time.Time) (next time.Time) {
	var delayed []store.Key
	for k, d := range m.documents {
		if d.state == Delayed {
			delayed = append(delayed, k)
		}
	}
	slices.SortFunc(delayed, func(x, y store.Key) int {
		return cmp.Compare(m.documents[x].due.UnixNano(), m.documents[y].due.UnixNano())
	})
	for _, k := range delayed {
		due := m.documents[k].due
		if due.After(now) {
			next = due
			break
		}
		m.counts.Delayed--
		if m.full() {
			delete(m.documents, k)
			m.reread = true
		} else {
			m.push(k)
		}
	}
	switch {
	case m.rereadAt.IsZero():
	case !m.rereadAt.After(now):
		m.rereadAt, m.reread = time.Time{}, true
	case next.IsZero() || m.rereadAt.Before(next):
		next = m.rereadAt
	}
	return next
}

func (m *model) beginRead() bool {
	if !m.wantsRead() {
		return false
	}
	m.reread = false
	return true
}
