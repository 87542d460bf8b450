package materializer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// work is one run: it loads the documents, folds their operations and commits
// the views, as many documents together as the budget has room for, one such
// round after the other in the same run: given back unread, those for which there
// was no room would be taken again behind the large document that filled it, and
// so until that one is done. Each document fails alone. Those whose folds are
// slow come last, one by one, and the others are given back before. When folds
// have taken long, what they made is stored, and the rest goes back to the queue.
func (e *engine) work(ctx context.Context, tickets []dispatcher.Ticket) []dispatcher.Result {
	if e.step.Load() == 0 {
		return e.workOn(ctx, newHand(tickets...))
	}
	began := time.Now()
	results := e.workOn(ctx, newHand(tickets...))
	e.owe(time.Since(began))
	return results
}

func (e *engine) workOn(ctx context.Context, h *hand) []dispatcher.Result {
	e.begin(h)
	defer e.end(ctx, h)
	quick, alone := e.slow.split(h, e.unpaused(h))
	some := len(quick)+len(alone) > 0
	err := e.rounds(ctx, h, quick)
	if err != nil && len(quick) > 1 && perhapsOfOne(ctx, err) {
		// A row or page that cannot be read: find out whose it is, so that the others
		// are not held up by it.
		alone, err = append(h.unsettled(quick), alone...), nil
	}
	for i := 0; i < len(alone) && err == nil && !h.long(); i++ {
		e.giveBack(h)
		one := alone[i : i+1]
		if err = e.rounds(ctx, h, one); err != nil && perhapsOfOne(ctx, err) {
			e.troubleOfOne(ctx, err, h, h.unsettled(one))
			err = nil
		}
	}
	if err != nil {
		e.trouble(ctx, err, h, h.unsettled(all(len(h.tickets))))
	} else if some {
		e.troubles.Store(0)
	}
	return h.finish(ctx)
}

// perhapsOfOne reports whether an error of several documents may be the fault of
// one of them.
func perhapsOfOne(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !slices.ContainsFunc(
		[]error{store.ErrClosed, store.ErrBusy, store.ErrFull, store.ErrInDoubt, ErrGraceOver, errStopping},
		func(target error) bool { return errors.Is(err, target) })
}

// unpaused settles the documents of paused collections: the store has them, and
// they are signalled when the collection goes on. If that is just now, they have
// the requeue flag. One of another materializer's collection, which somebody
// appended through this one, is that one's business. What is held is read again when that
// is over, and what the other pool has it signals when it gives it back. What is not served any more is
// for the other pool: it was queued before a switch.
func (e *engine) unpaused(h *hand) []int {
	going := make([]int, 0, len(h.tickets))
	for i := range h.tickets {
		switch c := e.collection(h.tickets[i].Key.Collection); {
		case c == nil || c.paused.Load() || c.isHeld():
			r := dispatcher.Result{Verdict: dispatcher.Done}
			if h.aside { // the store may let it go already: it would be read again at once
				r = delayed(soon)
			}
			h.settle(i, r)
		case !h.aside && !c.served.Load(), !h.aside && e.aside.has(h.tickets[i].Key):
			h.settle(i, dispatcher.Result{Verdict: dispatcher.Done})
		default:
			going = append(going, i)
		}
	}
	return going
}

// giveBack gives back what is settled while others of the hand go on.
func (e *engine) giveBack(h *hand) {
	if tickets, results := h.settledNow(); len(tickets) > 0 {
		e.back(h, tickets, results)
	}
}

// back gives documents back to where the hand has them from.
func (e *engine) back(h *hand, tickets []dispatcher.Ticket, results []dispatcher.Result) {
	if h.aside {
		e.aside.Done(tickets, results)
	} else {
		e.Done(tickets, results)
	}
}

// rounds works on the documents until they are settled or have had one slice.
func (e *engine) rounds(ctx context.Context, h *hand, left []int) error {
	left = h.unsettled(left) // a seized hand has none left
	for need := e.budget.share; len(left) > 0 && !h.long(); {
		if err := h.hold(ctx, e.budget, need); err != nil {
			return err
		}
		var err error
		if left, err = e.leases.have(ctx, h, left); err == nil && len(left) > 0 {
			left, need, err = e.round(ctx, h, left, need)
		}
		h.drop(e.budget)
		if err != nil {
			return err
		}
		if need == 0 {
			need = e.budget.share
		}
		if left = h.unsettled(left); len(left) > 0 {
			e.giveBack(h)
		}
	}
	return nil
}

// round is one load, one reading of operations, a fold for each document, and one
// commit, all within the bytes that are held. The rest are the documents for
// which there was no room; need is more than is held if not even the first one
// has room.
func (e *engine) round(ctx context.Context, h *hand, left []int, held int64) (rest []int, need int64, err error) {
	b, rest, need, err := e.load(ctx, h, left, held)
	if err != nil || need > 0 || len(b) == 0 {
		return rest, need, err
	}
	b, cold := readyFirst(b)
	if cold < len(b) {
		n, need, err := e.read(ctx, b, cold, held)
		if err != nil || need > 0 {
			return append(indexes(b), rest...), need, err
		}
		b, rest = b[:n], append(indexes(b[n:]), rest...)
	}
	b = e.foldAll(ctx, h, b)
	if e.mayDelay(h) {
		e.waits.delay(b, e.cfg.ViewDelay)
	}
	return rest, 0, e.commit(ctx, h, b)
}

// read reads the operations of documents from cold on, as many as there is room
// for, and returns how many of all have theirs.
func (e *engine) read(ctx context.Context, b []*item, cold int, held int64) (have int, need int64, err error) {
	size := int64(0)
	for i := range b {
		size += b[i].size
	}
	read := b[cold:]
	ranges := make([]store.Range, len(read))
	for i := range read {
		doc := read[i].doc
		ranges[i] = store.Range{Key: doc.Key, From: doc.Applied + 1, To: doc.Head}
	}
	room := max(held-size, held/2, 1)
	ops, err := e.st.Operations(ctx, ranges, store.Budget{Operations: sliceOperations, Bytes: room})
	if err != nil {
		return 0, 0, err
	}
	n := 1 // the first one goes in any case: if it has none, they are missing
	for n < len(ops) && len(ops[n]) > 0 {
		n++
	}
	for i := range read[:n] {
		read[i].prepareRun(ops[i])
	}
	if len(ops[0]) == 1 && held < e.budget.total {
		// A single operation is read whatever its size. If it is too large, this and
		// what else was read is dropped, until the run has taken enough for it.
		op := &ops[0][0]
		if size := int64(len(op.Body) + len(op.Meta)); size > room {
			return 0, min(2*(size+read[0].size), e.budget.total), nil
		}
	}
	return cold + n, 0, nil
}

func indexes(b []*item) []int {
	of := make([]int, len(b))
	for i := range b {
		of[i] = b[i].index
	}
	return of
}
