package storetest_test

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/position"
)

// at returns where the operation is that has a position in the inner store.
func (c *cluster) at(inner store.Position) position.Position {
	if inner == 0 {
		return position.Position{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.placed[inner-1]
}

// end returns the token of all that is complete.
func (c *cluster) end() store.Token {
	token := c.tracker.Token()
	switch c.fault {
	case "highest":
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range c.placed {
			token = token.Join(position.TokenAt(p.Number))
		}
	case "idle holds":
		for _, s := range c.tracker.Standings() {
			token = token.Bound(max(s.Written, 1))
		}
	}
	return token.In(c.of)
}

// cut returns the token for this store, which must be of the past.
func (c *cluster) cut(token store.Token) (position.Token, error) {
	cut, err := token.Cut(c.of)
	if err != nil {
		return cut, err
	}
	future := !cut.AtMost(c.tracker.Token())
	for p := range cut.Ahead() {
		future = future || !c.tracker.Knows(p.Writer)
	}
	if future && c.fault != "any writer" {
		return cut, &store.FutureTokenError{Token: token, End: c.end()}
	}
	return cut, nil
}

func (h *many) End(ctx context.Context) (store.Token, error) {
	return with(h.handle, func() (store.Token, error) {
		if err := context.Cause(ctx); err != nil {
			return store.Token{}, err
		}
		return h.cluster.end(), nil
	})
}

func (h *many) Resolve(ctx context.Context, token store.Token, keys []store.Key) ([]int64, error) {
	return with(h.handle, func() ([]int64, error) {
		cut, err := h.cluster.cut(token)
		if err != nil {
			return nil, err
		}
		if h.cluster.fault == "minimum only" {
			cut = position.TokenAt(cut.Min())
		}
		if _, err := h.cluster.shared.Resolve(ctx, store.Token{}, keys); err != nil {
			return nil, err
		}
		seqs := make([]int64, len(keys))
		for i, k := range keys {
			if store.CheckBare(k.Collection) != nil {
				continue
			}
			for op, err := range store.ReadOperations(ctx, h.cluster.shared, k, 1) {
				if err != nil {
					return nil, err
				}
				if cut.Includes(h.cluster.at(op.Position)) {
					seqs[i] = op.Seq
				}
			}
		}
		return seqs, nil
	})
}

func (h *many) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	pages, err := h.handle.Operations(ctx, ranges, budget)
	for _, page := range pages {
		for i := range page {
			h.cluster.place(&page[i])
		}
	}
	return pages, err
}

func (c *cluster) place(op *store.Operation) {
	at := c.at(op.Position)
	op.Position, op.Writer = at.Number, at.Writer
}

func (h *many) Log(ctx context.Context, from, to store.Token) iter.Seq2[store.Logged, error] {
	return func(yield func(store.Logged, error) bool) {
		all, err := h.log(ctx, from, to)
		if err != nil {
			yield(store.Logged{}, err)
			return
		}
		stream(h.handle, func(yield func(store.Logged, error) bool) {
			for _, l := range all {
				if !yield(l, nil) {
					return
				}
			}
		})(yield)
	}
}

func (h *many) log(ctx context.Context, from, to store.Token) (all []store.Logged, err error) {
	if _, err := h.End(ctx); err != nil {
		return nil, err
	}
	after, err := h.cluster.cut(from)
	if err != nil {
		return nil, err
	}
	if to.IsZero() {
		to = h.cluster.end()
	}
	upTo, err := h.cluster.cut(to)
	if err != nil {
		return nil, err
	}
	between := position.Between(after, upTo)
	for l, err := range h.handle.Log(ctx, store.Token{}, store.Token{}) {
		if err != nil {
			return nil, err
		}
		if h.cluster.place(&l.Operation); between.Contains(position.Position{Writer: l.Writer, Number: l.Position}) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b store.Logged) int { return cmp.Compare(a.Position, b.Position) })
	for i := range all {
		all[i].Token = after.Join(upTo.Bound(all[i].Position)).In(h.cluster.of)
	}
	return all, nil
}

func (c *cluster) since(s *store.Since) { s.Position = c.at(s.Position).Number }

func (c *cluster) document(d store.Document) store.Document {
	d.Last = c.at(d.Last).Number
	c.since(&d.Since)
	return d
}

// mapped passes on a stream, each element as f returns it.
func mapped[T any](stream iter.Seq2[T, error], f func(T) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for element, err := range stream {
			if err == nil {
				element = f(element)
			}
			if !yield(element, err) {
				return
			}
		}
	}
}

func (h *many) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	documents, err := h.handle.Load(ctx, keys, parts)
	for i := range documents {
		documents[i] = h.cluster.document(documents[i])
	}
	return documents, err
}

func (h *many) Scan(ctx context.Context, collection, after string, parts store.Parts) iter.Seq2[store.Document, error] {
	return mapped(h.handle.Scan(ctx, collection, after, parts), h.cluster.document)
}

func (h *many) Parked(ctx context.Context, collection string) iter.Seq2[store.Document, error] {
	return mapped(h.handle.Parked(ctx, collection), h.cluster.document)
}

func (h *many) Changes(ctx context.Context, collection string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	return mapped(h.handle.Changes(ctx, collection, after, parts), func(c store.Change) store.Change {
		c.Document = h.cluster.document(c.Document)
		return c
	})
}

func (h *many) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		var all []store.Runnable
		for r, err := range h.handle.Runnable(ctx, collections) {
			if err != nil {
				yield(r, err)
				return
			}
			h.cluster.since(&r.Since)
			all = append(all, r)
		}
		slices.SortFunc(all, func(a, b store.Runnable) int { return cmp.Compare(a.Since.Position, b.Since.Position) })
		for _, r := range all {
			if _, err := with(h.handle, func() (bool, error) { return true, nil }); err != nil {
				yield(store.Runnable{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (h *many) Claim(ctx context.Context) (store.Claim, error) {
	claim, err := h.handle.Claim(ctx)
	claim.End = h.cluster.at(claim.End).Number
	return claim, err
}

func (h *many) Share(ctx context.Context) (store.Claim, error) {
	claim, err := h.handle.Share(ctx)
	claim.End = h.cluster.at(claim.End).Number
	return claim, err
}

// Count looks for the oldest again, as the order is another one.
func (h *many) Count(ctx context.Context, collection string) (store.Counts, error) {
	n, err := h.handle.Count(ctx, collection)
	if err != nil {
		return n, err
	}
	n.Oldest, n.OldestParked = store.Runnable{}, store.Runnable{}
	for d, err := range h.Scan(ctx, collection, "", store.WithoutViews) {
		if err != nil {
			return n, err
		}
		oldest := &n.Oldest
		if d.Parked() {
			oldest = &n.OldestParked
		}
		if d.Dirty() && (oldest.Key.ID == "" || d.Since.Position < oldest.Since.Position) {
			*oldest = store.Runnable{Key: d.Key, Since: d.Since}
			if d.Failure != nil {
				oldest.Wait = d.Failure.Delay
			}
		}
	}
	return n, nil
}
