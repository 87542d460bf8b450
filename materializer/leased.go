package materializer

import (
	"time"

	"github.com/refold-go/refold/store"
)

// lease is that of a document in a hand. Its times are this process's, and earlier
// than those of the store: they are counted from before it was asked for, and until
// two thirds are over.
type lease struct {
	epoch int64
	// renew is from when on it is lengthened, until when folds go on, and last the
	// latest that until may be.
	renew, until, last time.Time
}

func newLease(epoch int64, terms store.LeaseTerms, asked time.Time) lease {
	l := lease{epoch: epoch, last: asked.Add(terms.Most - terms.For/3)}
	l.lengthen(terms, asked)
	return l
}

func (l *lease) lengthen(terms store.LeaseTerms, asked time.Time) {
	l.renew, l.until = asked.Add(terms.For/3), asked.Add(terms.For-terms.For/3)
	if l.last.Before(l.until) {
		l.until = l.last
	}
}

// hasLease says that the hand has a document's lease.
func (h *hand) hasLease(k store.Key, l lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leases == nil {
		h.leases = make(map[store.Key]lease, len(h.tickets))
	}
	h.leases[k] = l
}

// noLease says that it does not have it any more.
func (h *hand) noLease(k store.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.leases, k)
}

// lease returns a document's lease; its epoch is 0 if there is none.
func (h *hand) lease(k store.Key) lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leases[k]
}

// byLease returns those of the documents that have no lease, and those whose lease
// is to be lengthened.
func (h *hand) byLease(of []int, now time.Time) (without, ageing []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, i := range of {
		switch l, ok := h.leases[h.tickets[i].Key]; {
		case !ok:
			without = append(without, i)
		case !now.Before(l.renew):
			ageing = append(ageing, i)
		}
	}
	return without, ageing
}

// leaseOver reports whether no fold of a document may begin any more.
func (h *hand) leaseOver(k store.Key) bool {
	l := h.lease(k)
	return l.epoch > 0 && time.Now().After(l.until)
}

// takeLeases takes the leases out of the hand, but for that of the document whose fold
// goes on, or went on when the hand was seized and ends meanwhile.
func (h *hand) takeLeases(seized bool) []store.Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	spared := h.folding
	if seized {
		spared = h.stuck
	}
	if len(h.leases) == 0 {
		return nil
	}
	held := make([]store.Held, 0, len(h.leases))
	for i := range h.tickets {
		k := h.tickets[i].Key
		if l, ok := h.leases[k]; ok && i != spared {
			held = append(held, store.Held{Key: k, Epoch: l.epoch})
			delete(h.leases, k)
		}
	}
	return held
}
