package position

import (
	"context"
	"slices"
)

// Wait waits until everything in a token is complete here. It returns nil at once
// if that is so already, even if ctx has ended; otherwise it returns the cause of
// ctx when that ends. It returns [ErrUnknown] at once, as a [WriterError], if the
// token names a writer that was never admitted. How far the log reaches the
// tracker cannot know: cut a token from outside back by [Token.Bound] before, or
// it can wait for ever.
func (t *Tracker) Wait(ctx context.Context, token Token) error {
	return t.wait(ctx, waiter{needs: token})
}

// WaitFor waits until everything of a writer up to a position is complete here,
// like Wait.
func (t *Tracker) WaitFor(ctx context.Context, p Position) error {
	if !p.Writer.valid() {
		return t.Wait(ctx, TokenAt(p.Number))
	}
	return t.wait(ctx, waiter{needs: Token{ahead: entries{first: p}}, next: 1})
}

// waiter waits for one need after the other, each in the heap of what it needs:
// so a change wakes only those whose need it meets.
type waiter struct {
	needs Token
	next  int // 0 for the minimum, i+1 for entry i of those ahead
	on    *record
	slot  slot[*waiter]
	done  chan struct{} // closed when all needs are met
}

func (t *Tracker) wait(ctx context.Context, request waiter) error {
	t.mu.Lock()
	for p := range request.needs.Ahead() {
		if t.records[p.Writer] == nil && p.Number > t.upTo {
			t.mu.Unlock()
			return &WriterError{Writer: p.Writer, Err: ErrUnknown}
		}
	}
	if t.metLocked(&request) {
		t.mu.Unlock()
		return nil
	}
	w := new(waiter)
	*w = request
	w.slot.owner, w.done = w, make(chan struct{})
	t.enlistLocked(w)
	t.mu.Unlock()

	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-w.done:
		return nil
	default:
		t.withdrawLocked(w)
		return context.Cause(ctx)
	}
}

// metLocked passes over the needs that are met, and reports whether none is left.
func (t *Tracker) metLocked(w *waiter) bool {
	for ; w.next <= w.needs.ahead.len(); w.next++ {
		if w.next == 0 {
			if w.needs.min > t.upTo {
				return false
			}
			continue
		}
		p := w.needs.ahead.at(w.next - 1)
		if p.Number <= t.upTo {
			continue
		}
		if p.Number > t.completedLocked(t.records[p.Writer]) {
			return false
		}
	}
	return true
}

// enlistLocked puts a waiter where its next need is met.
func (t *Tracker) enlistLocked(w *waiter) {
	w.on = nil
	if w.next == 0 {
		t.waiting.put(&w.slot, w.needs.min)
		return
	}
	p := w.needs.ahead.at(w.next - 1)
	w.on = t.records[p.Writer]
	if !slices.Contains(t.watched, w.on) {
		t.watched = append(t.watched, w.on)
	}
	w.on.waiting.put(&w.slot, p.Number)
}

func (t *Tracker) withdrawLocked(w *waiter) {
	if w.on == nil {
		t.waiting.remove(&w.slot)
		return
	}
	w.on.waiting.remove(&w.slot) // the record is unwatched at the next change
}

// wakeLocked takes those out of a heap whose need is met at n, and lets them go
// or wait for their next need.
func (t *Tracker) wakeLocked(h *heap[*waiter], n Number) {
	for top := h.top(); top != nil && top.number <= n; top = h.top() {
		h.remove(top)
		if w := top.owner; t.metLocked(w) {
			close(w.done)
		} else {
			t.enlistLocked(w)
		}
	}
}
