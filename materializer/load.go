package materializer

import (
	"context"
	"slices"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// load loads documents with their views, and settles those that have nothing to
// fold. A view counts twice, for what the fold makes of it, and may take half of
// what is held; the other half is for operations. Of documents that are hot, the
// operations are there too.
func (e *engine) load(ctx context.Context, h *hand, left []int, held int64) (b []*item, rest []int, need int64, err error) {
	keys := make([]store.Key, min(len(left), e.views.room(held/2)))
	for i := range keys {
		keys[i] = h.tickets[left[i]].Key
	}
	docs, ops, err := e.loadOrTake(ctx, h, keys)
	if err != nil {
		return nil, nil, 0, err
	}
	sum := int64(0)
	b, items := make([]*item, 0, len(docs)), make([]item, len(docs))
	for i := range docs {
		doc := &docs[i]
		if e.leases.lost(h, left[i], doc) {
			continue
		}
		c := e.collection(doc.Key.Collection)
		if r, idle := e.idle(h, doc); idle {
			h.settle(left[i], r)
			if !doc.Dirty() && doc.Applied > 0 && doc.Failure == nil && !h.aside && c.kind == folding {
				e.hot.put(doc)
			}
			continue
		}
		size := 2 * int64(len(doc.View))
		e.views.add(size)
		for j := range ops[i] {
			size += int64(len(ops[i][j].Body) + len(ops[i][j].Meta))
		}
		if sum += size; sum > held/2 && (len(b) > 0 || held < e.budget.total) {
			if len(b) == 0 {
				need = min(2*size, e.budget.total)
			}
			return b, left[i:], need, nil
		}
		it := &items[i]
		it.index, it.of, it.doc, it.size = left[i], c, doc, size
		it.prepareRun(ops[i])
		b = append(b, it)
	}
	return b, left[len(docs):], 0, nil
}

// loadOrTake returns documents, and the operations of those of which they are
// known without reading.
func (e *engine) loadOrTake(ctx context.Context, h *hand, keys []store.Key) ([]store.Document, [][]store.Operation, error) {
	ops := make([][]store.Operation, len(keys))
	if e.hot == nil || h.careful || h.aside {
		docs, err := e.st.Load(ctx, keys, store.WithViews)
		return docs, ops, err
	}
	docs := make([]store.Document, len(keys))
	var cold []store.Key
	for i, k := range keys {
		ok := false
		if docs[i], ops[i], ok = e.hot.take(k); !ok {
			cold = append(cold, k)
		}
	}
	if len(cold) == 0 {
		return docs, ops, nil
	}
	loaded, err := e.st.Load(ctx, cold, store.WithViews)
	if err != nil {
		return nil, nil, err
	}
	for i := range docs {
		if ops[i] == nil {
			docs[i], loaded = loaded[0], loaded[1:]
		}
	}
	return docs, ops, nil
}

// readyFirst puts those items first of which nothing has to be read, and returns how
// many they are.
func readyFirst(b []*item) ([]*item, int) {
	n := 0
	for n < len(b) && b[n].ready() {
		n++
	}
	if !slices.ContainsFunc(b[n:], func(it *item) bool { return it.ready() }) {
		return b, n // they do already, mostly
	}
	hot, cold := make([]*item, 0, len(b)), []*item(nil)
	for i := range b {
		if b[i].ready() {
			hot = append(hot, b[i])
		} else {
			cold = append(cold, b[i])
		}
	}
	return append(hot, cold...), len(hot)
}

// idle reports whether there is nothing to fold in a document, and what becomes
// of it.
func (e *engine) idle(h *hand, doc *store.Document) (r dispatcher.Result, idle bool) {
	switch {
	case doc.Parked(), !doc.Dirty():
		return dispatcher.Result{Verdict: dispatcher.Done}, true
	case doc.Failure != nil && doc.Failure.Delay > 0:
		return delayed(doc.Failure.Delay), true
	case !h.careful && e.suspect(doc.Key, doc.Since, doc.Lease):
		e.suspects.look()
		return dispatcher.Result{Verdict: dispatcher.Done}, true
	}
	return dispatcher.Result{}, false
}
