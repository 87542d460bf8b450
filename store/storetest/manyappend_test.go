package storetest_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/position"
)

func (h *many) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	return with(h.handle, func() (store.Appended, error) { return h.append(ctx, appends) })
}

func (h *many) append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	if err := store.CheckAppends(appends, store.MaxBody); err != nil {
		return store.Appended{}, err
	}
	c := h.cluster
	lock, err := c.hold(ctx, h, appends)
	if err != nil {
		return store.Appended{}, err
	}
	var result store.Appended
	for stored := false; !stored && err == nil; {
		result, stored, err = h.try(ctx, appends)
	}
	c.release(lock, appends)
	if err != nil {
		return store.Appended{}, err
	}
	if c.fault == "early token" {
		token := c.tracker.Token()
		for _, p := range h.places(result) {
			token = token.With(p)
		}
		result.Token = token.In(c.of)
		return result, nil
	}
	// Until all that was drawn before by the same writers has ended.
	for _, p := range h.places(result) {
		if err := c.tracker.WaitFor(context.WithoutCancel(ctx), p); err != nil {
			return store.Appended{}, err
		}
	}
	result.Token = c.end()
	return result, nil
}

// places returns where the operations of an append are.
func (h *many) places(result store.Appended) []position.Position {
	h.cluster.mu.Lock()
	defer h.cluster.mu.Unlock()
	var all []position.Position
	for _, d := range result.Documents {
		for _, p := range d.Operations {
			all = append(all, position.Position{Writer: h.cluster.writers[p.Position], Number: p.Position})
		}
	}
	return all
}

// try draws as many positions as are needed now, and commits if as many are needed
// still: a document may be removed in between.
func (h *many) try(ctx context.Context, appends []store.Append) (result store.Appended, stored bool, err error) {
	n, err := h.fresh(context.WithoutCancel(ctx), appends)
	if err != nil {
		return result, false, err
	}
	drawn, err := h.member.ReserveMany(ctx, n)
	if err != nil {
		return result, false, err
	}
	if s := h.stall.Swap(nil); s != nil && n > 0 {
		close(s.reached)
		<-s.free
	}
	return h.commit(context.WithoutCancel(ctx), appends, drawn)
}

func (h *many) commit(ctx context.Context, appends []store.Append, drawn []position.Position) (result store.Appended, stored bool, err error) {
	c := h.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() { _ = h.member.Finish(drawn...) }() // if it is fenced, nobody waits for it
	if h.member.Epoch() <= c.fenced[h.member.Writer()] {
		return result, false, fmt.Errorf("%w: writer %d", store.ErrFenced, h.member.Writer())
	}
	if n, err := h.fresh(ctx, appends); err != nil || n != len(drawn) {
		return result, false, err
	}
	if result, err = c.shared.Append(ctx, appends); err != nil {
		return result, false, err
	}
	c.placed = append(c.placed, drawn...)
	for _, p := range drawn {
		c.writers[p.Number] = p.Writer
	}
	for _, d := range result.Documents {
		for i := range d.Operations {
			d.Operations[i].Position = c.placed[d.Operations[i].Position-1].Number
		}
	}
	return result, true, nil
}

// fresh returns how many operations an append would add; 0 if it would be refused.
func (h *many) fresh(ctx context.Context, appends []store.Append) (n int, err error) {
	collections, err := h.cluster.shared.Collections(ctx)
	if err != nil {
		return 0, err
	}
	for _, a := range appends {
		if slices.ContainsFunc(collections, func(c store.Collection) bool { return c.Derived && c.Name == a.Key.Collection }) {
			return 0, nil
		}
		documents, err := h.cluster.shared.Load(ctx, []store.Key{a.Key}, store.WithoutViews)
		if err != nil {
			return 0, err
		}
		if gone, err := h.cluster.shared.Forgotten(ctx, a.Key); err != nil || gone {
			return 0, err
		}
		known := make(map[string]store.Entry)
		if hasIDs(a) {
			for op, err := range store.ReadOperations(ctx, h.cluster.shared, a.Key, 1) {
				if err != nil {
					return 0, err
				}
				known[op.ID] = op.Entry
			}
		}
		adds := 0
		for _, e := range a.Entries {
			old, twice := known[e.ID]
			switch {
			case e.ID == "" || !twice:
				known[e.ID] = e
				adds++
			case old.Kind != e.Kind || !bytes.Equal(old.Body, e.Body):
				return 0, nil
			}
		}
		if a.Head != nil && *a.Head != documents[0].Head && adds > 0 {
			return 0, nil
		}
		n += adds
	}
	return n, nil
}

func hasIDs(a store.Append) bool {
	for _, e := range a.Entries {
		if e.ID != "" {
			return true
		}
	}
	return false
}
