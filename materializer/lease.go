package materializer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// leases takes documents for the hands of a Run that shares its store. A document is
// taken when its run begins, and the commit gives it up, so that what waits in the
// queue can be had by others. The nil value is that of a Run which does not share:
// nothing is taken, and everything is had.
//
// A lease is lengthened only between two rounds, when something was stored. So a fold
// that hangs loses it, and another process goes on with the document, in its lane: as
// with a process that has died, the document may be what is to blame.
type leases struct {
	e      *engine
	holder string
	terms  store.LeaseTerms
	// crowded tells that others had documents of late, so that it is worth a look
	// before the store is locked for asking.
	crowded atomic.Bool
}

// carefully makes a holder out of another: the lane has one of its own, so that a
// document is never in the pool and in the lane at once.
const carefully = "+careful"

// besides does so for the pool of the generations that are not served.
const besides = "+aside"

func (l *leases) holderOf(h *hand) string {
	switch {
	case h.careful:
		return l.holder + carefully
	case h.aside:
		return l.holder + besides
	}
	return l.holder
}

// have makes sure that the hand has the leases of documents, and returns those of
// which it has. The others are settled.
func (l *leases) have(ctx context.Context, h *hand, left []int) ([]int, error) {
	if l == nil {
		return left, nil
	}
	without, ageing := h.byLease(left, time.Now())
	if err := l.lengthen(ctx, h, ageing); err != nil {
		return nil, err
	}
	if err := l.take(ctx, h, without); err != nil {
		return nil, err
	}
	return h.unsettled(left), nil
}

// take takes documents, and settles those that it does not get.
func (l *leases) take(ctx context.Context, h *hand, of []int) error {
	crowded := false
	if len(of) > 0 && l.crowded.Load() {
		rest, err := l.look(ctx, h, of)
		if err != nil {
			return err
		}
		of, crowded = rest, len(rest) < len(of)
	}
	if len(of) == 0 {
		return nil
	}
	keys := make([]store.Key, len(of))
	for i := range of {
		keys[i] = h.tickets[of[i]].Key
	}
	answers, err := l.ask(ctx, h, keys, false)
	if err != nil {
		return err
	}
	var not []int
	for i, a := range answers {
		if a.Epoch == 0 {
			h.settle(of[i], l.without(a))
		} else if l.e.lane.has(keys[i]) {
			// The lane folds it still, and has lost the lease. One of the two sees the other:
			// each says that it has a document before it looks.
			h.settle(of[i], delayed(lookLate))
		}
		if a.Why == store.NotRunnable {
			not = append(not, of[i])
		}
		crowded = crowded || a.Why == store.Elsewhere
	}
	l.crowded.Store(crowded)
	return l.lookAtHeld(ctx, h, not)
}

// lookAtHeld settles documents that could not be leased although they are dirty. What is
// served is held then, or was paused just now, and this process may not know yet: who
// waits for one of them would signal it again and again.
func (l *leases) lookAtHeld(ctx context.Context, h *hand, of []int) error {
	if len(of) == 0 {
		return nil
	}
	keys := make([]store.Key, len(of))
	for i := range of {
		keys[i] = h.tickets[of[i]].Key
	}
	docs, err := l.e.st.Load(ctx, keys, store.WithoutViews)
	if err != nil {
		return err
	}
	held := false
	for i := range docs {
		if docs[i].Dirty() && !docs[i].Parked() {
			h.settle(of[i], delayed(lookSoon))
			held = true
		}
	}
	if held {
		l.e.lookAfter() // the table may have no room for the delay
	}
	return nil
}

// ask asks for documents; the hand has the leases of those that it gets.
func (l *leases) ask(ctx context.Context, h *hand, keys []store.Key, over bool) ([]store.Leased, error) {
	if !l.e.gate.enter() {
		return nil, ErrGraceOver
	}
	defer l.e.gate.leave()
	asked := time.Now()
	answers, err := l.e.st.Lease(ctx, l.holderOf(h), l.terms, keys, over)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		if a.Epoch > 0 {
			h.hasLease(keys[i], newLease(a.Epoch, l.terms, asked)) // #nosec G602 -- Lease returns one for each
		}
		if a.Epoch > 0 && a.Lease.LeftBehind() && a.Lease.Holder != l.holderOf(h) {
			l.e.counts.leftBehind.Add(1)
			l.e.cfg.Logger.Warn().Stringer("document", l.e.shown(keys[i])). // #nosec G602 -- Lease returns one for each
											Str("holder", a.Lease.Holder).Msg("taken over: its holder left it behind")
		}
	}
	return answers, nil
}

// without says what becomes of a document that was not taken.
func (l *leases) without(a store.Leased) dispatcher.Result {
	switch a.Why {
	case store.Waiting:
		return delayed(a.Wait)
	case store.Elsewhere:
		return delayed(lookAgain(a.Lease))
	case store.LeftBehind:
		l.e.suspects.look()
	}
	return dispatcher.Result{Verdict: dispatcher.Done}
}

// look reads who has documents, settles those that others have, and returns the rest.
func (l *leases) look(ctx context.Context, h *hand, of []int) (rest []int, err error) {
	keys := make([]store.Key, len(of))
	for i := range of {
		keys[i] = h.tickets[of[i]].Key
	}
	docs, err := l.e.st.Load(ctx, keys, store.WithoutViews)
	if err != nil {
		return nil, err
	}
	for i := range docs {
		switch d := &docs[i]; {
		case !d.Dirty() || d.Parked():
			h.settle(of[i], dispatcher.Result{Verdict: dispatcher.Done})
		case d.Lease.Holder == "" || d.Lease.Holder == l.holderOf(h):
			rest = append(rest, of[i])
		case d.Lease.LeftBehind():
			h.settle(of[i], l.without(store.Leased{Why: store.LeftBehind}))
		default:
			h.settle(of[i], l.without(store.Leased{Why: store.Elsewhere, Lease: d.Lease}))
		}
	}
	return rest, nil
}

// lengthen lets leases last longer, and settles the documents whose lease is lost.
func (l *leases) lengthen(ctx context.Context, h *hand, of []int) error {
	if len(of) == 0 {
		return nil
	}
	if !l.e.gate.enter() {
		return ErrGraceOver
	}
	defer l.e.gate.leave()
	held := make([]store.Held, len(of))
	for i := range of {
		k := h.tickets[of[i]].Key
		held[i] = store.Held{Key: k, Epoch: h.lease(k).epoch}
	}
	asked := time.Now()
	had, err := l.e.st.Lengthen(ctx, l.holderOf(h), l.terms, held)
	if err != nil {
		return err
	}
	for i, k := range held {
		if !had[i] {
			l.lose(h, of[i])
			continue
		}
		mine := h.lease(k.Key)
		mine.lengthen(l.terms, asked)
		h.hasLease(k.Key, mine)
	}
	return nil
}

// lost reports whether the hand does not have the lease under which a document was
// loaded. Then it is settled.
func (l *leases) lost(h *hand, i int, doc *store.Document) bool {
	if l == nil || h.lease(doc.Key).epoch == doc.Epoch {
		return false
	}
	l.lose(h, i)
	return true
}

func (l *leases) lose(h *hand, i int) {
	l.e.counts.lost.Add(1)
	h.noLease(h.tickets[i].Key)
	h.settle(i, dispatcher.Result{Verdict: dispatcher.Again})
}

// giveUp gives back what the hand has and has not committed, but for the document
// whose fold goes on. seized tells that it is not the worker of the hand who calls: then
// that document stays the worker's, whose fold may end just now.
func (l *leases) giveUp(ctx context.Context, h *hand, seized bool) {
	if l == nil || !l.e.gate.enter() {
		return
	}
	defer l.e.gate.leave()
	l.release(ctx, h, seized)
}

// giveUpAll does that for all hands, when the gate is closed. What is being folded
// then is left behind: somebody else is to be careful with it.
func (l *leases) giveUpAll(ctx context.Context) {
	if l == nil {
		return
	}
	for _, h := range l.e.inHand() {
		l.release(ctx, h, false)
	}
}

func (l *leases) release(ctx context.Context, h *hand, seized bool) {
	held := h.takeLeases(seized)
	if len(held) == 0 {
		return
	}
	// The context of the run may be over.
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), time.Second, ErrGraceOver)
	defer cancel()
	if _, err := l.e.st.Release(ctx, l.holderOf(h), held); err != nil {
		l.e.cfg.Logger.Warn().Err(err).Int("documents", len(held)).Msg("cannot give leases back: others wait until they have run out")
	}
}
