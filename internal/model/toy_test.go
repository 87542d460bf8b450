package model

import (
	"context"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// toy is the table of the model, which can have a fault. With none it does what
// the real one does.
type toy struct {
	mutant   string
	limit    int
	states   map[store.Key]dispatcher.State
	queue    []store.Key
	due      map[store.Key]time.Time // of those that are delayed
	reread   bool
	rereadAt time.Time
	wake     chan struct{}
}

func newToy(limit int, mutant string) *toy {
	return &toy{
		mutant: mutant,
		limit:  limit,
		states: make(map[store.Key]dispatcher.State),
		due:    make(map[store.Key]time.Time),
		wake:   make(chan struct{}, 1),
	}
}

func (t *toy) State(k store.Key) dispatcher.State { return t.states[k] }

func (t *toy) Counts() dispatcher.Counts {
	c := dispatcher.Counts{Queued: len(t.queue), Delayed: len(t.due)}
	for _, s := range t.states {
		if s == dispatcher.Running || s == dispatcher.Requeue {
			c.Running++
		}
	}
	return c
}

func (t *toy) active() int {
	c := t.Counts()
	return c.Queued + c.Running
}

func (t *toy) Signal(k store.Key) bool { return t.signalSeen(k, t.states[k]) }

// signalSeen signals a document that was seen in state s.
func (t *toy) signalSeen(k store.Key, s dispatcher.State) bool {
	switch {
	case s == dispatcher.Idle && t.active() >= t.limit:
		t.reread = t.mutant != fullForgotten
		return false
	case s == dispatcher.Idle, s == dispatcher.Running && t.mutant == requeueAtOnce:
		t.push(k)
	case s == dispatcher.Running && t.mutant != requeueDropped:
		t.states[k] = dispatcher.Requeue
	}
	return true
}

func (t *toy) push(k store.Key) {
	t.states[k] = dispatcher.Queued
	t.queue = append(t.queue, k)
}

func (t *toy) Take(_ context.Context, buf []dispatcher.Ticket) (int, error) {
	buf[0] = dispatcher.Ticket{Key: t.queue[0]}
	t.queue = t.queue[1:]
	t.states[buf[0].Key] = dispatcher.Running
	return 1, nil
}

func (t *toy) Done(tickets []dispatcher.Ticket, results []dispatcher.Result, _ func(store.Key, int)) int {
	t.doneSeen(tickets[0].Key, t.states[tickets[0].Key], results[0])
	return 1
}

// doneSeen gives back a document that was seen in state s.
func (t *toy) doneSeen(k store.Key, s dispatcher.State, r dispatcher.Result) {
	switch {
	case r.Verdict == dispatcher.Done && s != dispatcher.Requeue,
		r.Verdict == dispatcher.Done && t.mutant == resumedInHand:
		t.states[k] = dispatcher.Idle
	case r.Verdict == dispatcher.Delay:
		t.delay(k, r.Until)
	default:
		t.push(k)
	}
	if t.wantsRead() {
		t.poke()
	}
}

func (t *toy) Delay(k store.Key, due time.Time) {
	if t.states[k] == dispatcher.Idle {
		t.delay(k, due)
	}
}

func (t *toy) delay(k store.Key, due time.Time) {
	t.poke()
	if len(t.due) < t.limit {
		t.states[k], t.due[k] = dispatcher.Delayed, due
		return
	}
	t.states[k] = dispatcher.Idle
	if t.rereadAt.IsZero() || due.Before(t.rereadAt) {
		t.rereadAt = due
	}
}

func (t *toy) Wake(now time.Time) (next time.Time) {
	for _, k := range keys {
		due, delayed := t.due[k]
		switch {
		case !delayed:
		case due.After(now):
			if next.IsZero() || due.Before(next) {
				next = due
			}
		default:
			delete(t.due, k)
			if t.states[k] = dispatcher.Idle; !t.Signal(k) {
				t.reread = true
			}
		}
	}
	if !t.rereadAt.IsZero() && !t.rereadAt.After(now) {
		t.rereadAt, t.reread = time.Time{}, true
	}
	if next.IsZero() || !t.rereadAt.IsZero() && t.rereadAt.Before(next) {
		next = t.rereadAt
	}
	return next
}

func (t *toy) Reread() {
	t.reread = true
	t.poke()
}

func (t *toy) wantsRead() bool { return t.reread && t.active() <= t.limit/2 }

func (t *toy) BeginRead() bool {
	if !t.wantsRead() {
		return false
	}
	t.reread = t.mutant == clearedLate
	return true
}

func (t *toy) Woken() <-chan struct{} { return t.wake }

func (t *toy) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// next is the head of the run queue.
func (t *toy) next(k store.Key) bool { return len(t.queue) > 0 && t.queue[0] == k }
