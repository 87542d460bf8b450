package materializer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// hand is what one worker has taken. Its documents are given back when they are
// settled and others of the hand still have to wait, at the latest together when
// the worker is through: the table refuses what it was given before.
//
// Folds that take very long must not hold up the rest. Then the hand is seized:
// all but the document that is being folded are given back by somebody else, and
// the worker, when the fold returns, has only that one left.
type hand struct {
	tickets []dispatcher.Ticket
	// careful tells that the document is a suspect. Its ticket is not the table's.
	careful bool
	// aside tells that the documents are of generations that are not served, and come
	// from the source of those.
	aside bool
	// marked tells that the attempt of a careful hand was recorded ahead, and before
	// is the document's failure as it was before that.
	marked bool
	before *store.Failure
	// spent is how long folds of the hand took. Only the worker uses it.
	spent time.Duration

	// mu guards the following fields.
	mu      sync.Mutex
	results []dispatcher.Result
	settled []bool    // the result is final
	given   []bool    // back
	folding int       // which one's fold is going on; -1 is none
	since   time.Time // when the folds of this round began
	seized  bool
	stuck   int                 // the one that was being folded when the hand was seized
	taken   chan struct{}       // made when it is seized, closed when all others are out
	stale   bool                // a commit of the hand was
	kept    []*item             // folded in this round, and not stored yet
	bytes   int64               // of the budget
	leases  map[store.Key]lease // those that the hand has, if the store is shared
	over    bool
	release func() // ends the worker that was started instead; nil if none was
}

func newHand(tickets ...dispatcher.Ticket) *hand {
	n := len(tickets)
	flags := make([]bool, 2*n)
	h := &hand{
		tickets: tickets,
		results: make([]dispatcher.Result, n),
		settled: flags[:n:n],
		given:   flags[n:],
		folding: -1,
	}
	for i := range h.results {
		h.results[i].Verdict = dispatcher.Again // until something else is known
	}
	return h
}

// long reports whether the hand has taken so long that what is left in it is to go
// back, so that other workers can have it: there is more than this one can do soon.
func (h *hand) long() bool { return h.spent > slowFold }

// settle says what becomes of a document.
func (h *hand) settle(i int, r dispatcher.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.given[i] {
		h.results[i], h.settled[i] = r, true
	}
}

// unsettled returns those of the documents that are not settled, mostly all: then it
// is the same slice.
func (h *hand) unsettled(of []int) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := func(i int) bool { return h.settled[i] || h.given[i] }
	if !slices.ContainsFunc(of, out) {
		return slices.Clip(of)
	}
	left := make([]int, 0, len(of))
	for _, i := range of {
		if !out(i) {
			left = append(left, i)
		}
	}
	return left
}

// startRound says that folds of so many documents begin.
func (h *hand) startRound(documents int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = time.Now()
	h.kept = slices.Grow(h.kept, documents)
}

// startFold says that the fold of a document begins. It returns false if the
// hand was seized: then the document is in other hands.
func (h *hand) startFold(i int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seized {
		return false
	}
	h.folding = i
	return true
}

// endFold reports whether the hand was seized meanwhile.
func (h *hand) endFold() (seized bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.folding = -1
	return h.seized
}

// settledNow returns what may be given back early, and says that it is.
func (h *hand) settledNow() (tickets []dispatcher.Ticket, results []dispatcher.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.giveLocked(func(i int) bool { return h.settled[i] })
}

func (h *hand) giveLocked(which func(i int) bool) (tickets []dispatcher.Ticket, results []dispatcher.Result) {
	for i := range h.tickets {
		if !h.given[i] && which(i) {
			h.given[i] = true
			tickets, results = append(tickets, h.tickets[i]), append(results, h.results[i])
		}
	}
	return tickets, results
}

// seize reports whether the folds of the round have taken longer than patience.
// Then the worker of the hand has only the one that it is folding, and whoever
// called is to store what was kept and to take the others out.
func (h *hand) seize(patience time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seized || h.folding < 0 || time.Since(h.since) < patience {
		return false
	}
	h.seized, h.stuck = true, h.folding
	h.taken = make(chan struct{})
	return true
}

// takeOut takes all documents out of a seized hand but the one that was being
// folded, together with the hand's bytes.
func (h *hand) takeOut() (tickets []dispatcher.Ticket, results []dispatcher.Result, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	tickets, results = h.giveLocked(func(i int) bool { return i != h.stuck })
	bytes, h.bytes = h.bytes, 0
	close(h.taken)
	return tickets, results, bytes
}

// finish returns the results that the worker gives back. If the hand is being
// seized it waits until that is done.
func (h *hand) finish(ctx context.Context) []dispatcher.Result {
	h.mu.Lock()
	taken := h.taken
	h.mu.Unlock()
	if taken != nil {
		<-taken
		yield.At(ctx, "the hand was seized")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.results)
}

// lost says that a commit of the hand was stale.
func (h *hand) lost() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stale = true
}

func (h *hand) wasStale() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stale
}

// keep keeps what is to be stored at the end of the round.
func (h *hand) keep(it *item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, it)
}

// takeKept returns what was kept. It is for whoever stores it: the worker, or, if
// the fold of another one does not return, whoever seizes the hand.
func (h *hand) takeKept() []*item {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.kept
	h.kept = nil
	return kept
}

// errStopping means that a run has not begun because Run was told to stop.
var errStopping = errors.New("refold: stopping")

// hold takes bytes of the budget for the hand.
func (h *hand) hold(ctx context.Context, b *budget, n int64) error {
	if err := b.take(ctx, n); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes = n
	return nil
}

// drop gives the bytes back that the hand has.
func (h *hand) drop(b *budget) {
	h.mu.Lock()
	n := h.bytes
	h.bytes = 0
	h.mu.Unlock()
	if n > 0 {
		b.give(n)
	}
}

// replaced says how to end the worker that was started instead of this one. If
// this one is through meanwhile, that is at once.
func (h *hand) replaced(release func()) {
	h.mu.Lock()
	over := h.over
	h.release = release
	h.mu.Unlock()
	if over {
		release()
	}
}

// end says that the worker is through.
func (h *hand) end() {
	h.mu.Lock()
	h.over = true
	release := h.release
	h.mu.Unlock()
	if release != nil {
		release()
	}
}

// key returns the document whose fold is going on.
func (h *hand) key() (k store.Key, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.folding < 0 {
		return store.Key{}, false
	}
	return h.tickets[h.folding].Key, true
}
