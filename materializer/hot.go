package materializer

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

// hot keeps what a run would read: the views that were stored of late, and the
// operations that were appended to their documents since. A run of such a document
// reads nothing, which on SQLite is a quarter of the processor time from append to
// view: each transaction of a reader first drops the pages that it had cached.
//
// Nothing has to be right here. What is kept of a document is used by one run, and
// dropped as it is taken; only a commit that the store accepted brings it back. If
// somebody else has changed the document meanwhile, the guard of the commit finds
// that out, and the next run reads the store. If the store is shared somebody else does
// so all the time, and in memory reading is as cheap: then it is nil, and keeps nothing.
type hot struct {
	// limit is how many bytes each of the two generations holds about.
	limit int64

	// mu guards the following fields. It is never held while blocked.
	mu sync.Mutex
	// young has what was used since the last turn, old what was used only before. A
	// turn drops the old ones: when the young ones have reached the limit, and with
	// each sweep, so that what is not used is gone after a minute.
	young, old map[store.Key]*warm
	bytes      int64 // of young
}

// warm is what is kept of one document.
type warm struct {
	// known tells that the document's view and guard were these when its last run was
	// stored. It is false while another run is in hand.
	known          bool
	applied, epoch int64
	version        int
	view           []byte // nil if deleted
	deleted        bool
	// ops are in order of seq, each once. There may be gaps: who appended last may
	// be first to tell.
	ops   []store.Operation
	times []int64 // when each was appended, in nanoseconds
	bytes int64
}

const (
	// hotShare is which part of Config.Bytes is kept beside it.
	hotShare = 4
	// hotDocument is how many bytes are kept of one document, and hotOverhead what a
	// document or an operation takes beside its bytes, about.
	hotDocument = 64 << 10
	hotOverhead = 256
)

func newHot(bytes int64) *hot {
	return &hot{limit: bytes / hotShare / 2, young: make(map[store.Key]*warm)}
}

// appended takes up what an append stored, for the generations that are made here and
// the documents that are kept.
func (h *hot) appended(r *registry, appends []store.Append, appended store.Appended, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range appends {
		for _, c := range r.named[appends[i].Key.Collection] {
			h.appendedLocked(Key{Collection: c.own, ID: appends[i].Key.ID}, &appends[i], &appended.Documents[i], at)
		}
	}
	h.turnLocked(false)
}

// appendedLocked takes up what an append added to a document, if that is kept.
func (h *hot) appendedLocked(k store.Key, a *store.Append, appended *store.AppendedDocument, at time.Time) {
	w := h.findLocked(k)
	for j := 0; w != nil && j < len(a.Entries); j++ {
		placed, e := &appended.Operations[j], &a.Entries[j]
		size := int64(len(e.Body)+len(e.Meta)) + hotOverhead
		switch {
		case placed.Duplicate:
		case w.bytes+size > hotDocument:
			h.dropLocked(k, w)
			w = nil
		default:
			w.add(operationOf(a, e, placed, at), at)
			w.bytes += size
			h.bytes += size
		}
	}
}

// operationOf returns an operation as the store would: with memory of its own.
func operationOf(a *store.Append, e *store.Entry, placed *store.Placed, at time.Time) store.Operation {
	op := store.Operation{Seq: placed.Seq, Position: placed.Position, History: a.History, Entry: *e}
	if e.Time.IsZero() {
		op.Time = at
	}
	op.Time = time.Unix(0, op.Time.UnixNano()).UTC()
	op.Meta, op.Body = bytes.Clone(e.Meta), bytes.Clone(e.Body)
	return op
}

func (w *warm) add(op store.Operation, at time.Time) {
	if i := w.index(op.Seq); i == len(w.ops) || w.ops[i].Seq != op.Seq {
		w.ops, w.times = slices.Insert(w.ops, i, op), slices.Insert(w.times, i, at.UnixNano())
	}
}

// index returns where an operation is, or belongs.
func (w *warm) index(seq int64) int {
	i, _ := slices.BinarySearchFunc(w.ops, seq, func(op store.Operation, seq int64) int { return cmp.Compare(op.Seq, seq) })
	return i
}

// take returns the document as its next run would load it, and the operations that
// its view lacks. It reports false if that is not known.
func (h *hot) take(k store.Key) (doc store.Document, ops []store.Operation, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.findLocked(k)
	if w == nil {
		return doc, nil, false
	}
	if n := int64(len(w.ops)); w.known && n > 0 && w.ops[0].Seq == w.applied+1 && w.ops[n-1].Seq == w.applied+n {
		doc = store.Document{
			Key: k, Head: w.applied + n, Applied: w.applied, Epoch: w.epoch, Version: w.version, View: w.view, Deleted: w.deleted,
			Since: store.Since{Position: w.ops[0].Position, Time: time.Unix(0, w.times[0]).UTC()},
		}
		ops, ok = w.ops, true
		w.ops, w.times = nil, nil
	}
	w.known, w.view = false, nil
	h.weighLocked(w)
	return doc, ops, ok
}

// put keeps a document whose view is in the store like that, and that is not parked
// or failing.
func (h *hot) put(doc *store.Document) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.findLocked(doc.Key)
	if int64(len(doc.View)) > hotDocument {
		if w != nil {
			h.dropLocked(doc.Key, w)
		}
		return
	}
	if w == nil {
		w = &warm{}
		h.young[doc.Key] = w
	}
	if folded := w.index(doc.Applied + 1); folded == len(w.ops) {
		w.ops, w.times = nil, nil
	} else {
		w.ops, w.times = slices.Delete(w.ops, 0, folded), slices.Delete(w.times, 0, folded)
	}
	w.known, w.applied, w.epoch, w.version, w.deleted = true, doc.Applied, doc.Epoch, doc.Version, doc.Deleted
	w.view = bytes.Clone(doc.View) // the codec's, who may use it again
	h.weighLocked(w)
	h.turnLocked(false)
}

// turn makes all that is kept old, and drops what was so before.
func (h *hot) turn() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turnLocked(true)
}

func (h *hot) turnLocked(now bool) {
	if now || h.bytes > h.limit {
		h.old, h.young, h.bytes = h.young, make(map[store.Key]*warm), 0
	}
}

// findLocked returns what is kept of a document, which is young then.
func (h *hot) findLocked(k store.Key) *warm {
	if w := h.young[k]; w != nil {
		return w
	}
	w := h.old[k]
	if w != nil {
		delete(h.old, k)
		h.young[k] = w
		h.bytes += w.bytes
	}
	return w
}

func (h *hot) dropLocked(k store.Key, w *warm) {
	delete(h.young, k)
	h.bytes -= w.bytes
}

// weighLocked says again how many bytes a young document takes.
func (h *hot) weighLocked(w *warm) {
	h.bytes -= w.bytes
	w.bytes = hotOverhead + int64(len(w.view))
	for i := range w.ops {
		w.bytes += hotOverhead + int64(len(w.ops[i].Body)+len(w.ops[i].Meta))
	}
	h.bytes += w.bytes
}
