package materializer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/refold-go/refold/store"
)

// End returns a token that covers all that is in the log now, by whomever it was
// appended: Wait for it waits until everything is in its view. That of an empty log
// is not the zero token.
func (m *Materializer) End(ctx context.Context) (Token, error) { return m.st.End(ctx) }

// Wait waits until the views of all registered collections contain what the
// token covers. A parked document does not fail the others: the rest is waited
// for, and then the error is [ErrParked] and names some. A paused collection is
// waited for until it goes on. A document that is forgotten meanwhile has nothing
// to wait for. Other errors as for [Collection.Get].
func (m *Materializer) Wait(ctx context.Context, token Token) error {
	return m.wait(ctx, token, m.names())
}

// Wait waits until the views of the named documents contain what the token
// covers, or those of the whole collection if none is named. Errors as for
// [Materializer.Wait].
func (c *Collection[S, O]) Wait(ctx context.Context, token Token, ids ...string) error {
	if len(ids) == 0 {
		return c.m.wait(ctx, token, []string{c.spec.Name})
	}
	return c.waitForEach(ctx, token, ids)
}

// waitForEach waits for documents one after the other.
func (c *Collection[S, O]) waitForEach(ctx context.Context, token Token, ids []string) error {
	var parked []error
	for _, id := range ids {
		key := c.key(id)
		if err := store.CheckKey(key); err != nil {
			return err
		}
		if err := c.m.waitFor(ctx, token, key); errors.Is(err, ErrParked) {
			parked = append(parked, err)
		} else if err != nil && !gone(err) {
			return err
		}
	}
	return errors.Join(parked...)
}

// gone reports whether an error says that a document is not there.
func gone(err error) bool { return errors.Is(err, ErrForgotten) || errors.Is(err, ErrNotFound) }

// Drain waits until everything that was appended before the call, by whomever, is
// in the views of all registered collections. It is [Materializer.Wait] for
// [Materializer.End].
func (m *Materializer) Drain(ctx context.Context) error {
	end, err := m.End(ctx)
	if err != nil {
		return err
	}
	return m.Wait(ctx, end)
}

// Drain waits until everything that was appended before the call is in the views
// of the named documents, or of the whole collection if none is named. It is
// [Collection.Wait] for [Materializer.End].
func (c *Collection[S, O]) Drain(ctx context.Context, ids ...string) error {
	end, err := c.m.End(ctx)
	if err != nil {
		return err
	}
	return c.Wait(ctx, end, ids...)
}

// wait waits for collections, and for all that they are made of.
func (m *Materializer) wait(ctx context.Context, token Token, collections []string) error {
	return m.waitForAll(ctx, token, func() ([][]string, error) { return m.levels(ctx, collections) })
}

// waitUpstream waits for all that a derived collection is made of.
func (m *Materializer) waitUpstream(ctx context.Context, token Token, derived string) error {
	return m.waitForAll(ctx, token, func() ([][]string, error) { return m.upstream(ctx, derived) })
}

// waitForAll waits for levels. It begins again when another generation of whatever collection is
// served, which may be made of others.
func (m *Materializer) waitForAll(ctx context.Context, token Token, read func() ([][]string, error)) error {
	for {
		begun, end := m.waits.begin(ctx)
		levels, err := read()
		if err == nil {
			err = m.waitForLevels(begun, token, levels)
		}
		switched := errors.Is(context.Cause(begun), errSwitched)
		end()
		if ctx.Err() != nil && switched {
			return fmt.Errorf("refold: waiting for what is served: %w", context.Cause(ctx))
		}
		if err != nil && !errors.Is(err, ErrParked) && !switched || ctx.Err() != nil {
			return err
		}
		if after, err2 := read(); err2 != nil {
			return err2
		} else if !switched && slices.EqualFunc(levels, after, slices.Equal) {
			return err
		}
	}
}

// waitForLevels waits for one level after the other, and
// then looks at the parked documents. One that is resumed just before that is in
// neither, so that the dirty ones are looked at once more.
func (m *Materializer) waitForLevels(ctx context.Context, token Token, levels [][]string) error {
	if _, err := m.st.Resolve(ctx, token, nil); err != nil || token.IsZero() {
		return err
	}
	collections := slices.Concat(levels...)
	return m.whileServed(ctx, collections, func() error { return m.waitOnceForLevels(ctx, token, levels, collections) })
}

func (m *Materializer) waitOnceForLevels(ctx context.Context, token Token, levels [][]string, collections []string) error {
	for {
		for _, level := range levels {
			if err := m.waitForLevel(ctx, token, level); err != nil {
				return err
			}
		}
		again := false
		parked, err := m.parkedBehind(ctx, token, collections)
		if err == nil {
			again, err = m.waitForHeldBack(ctx, token, collections)
		}
		if err != nil || !again {
			return cmp.Or(err, parked)
		}
	}
}

// waitForLevel waits until derived collections are filled, then for the runnable
// documents, and then for those that are held back.
func (m *Materializer) waitForLevel(ctx context.Context, token Token, collections []string) error {
	for {
		again, err := m.waitForFilling(ctx, collections)
		if err == nil && !again {
			again, err = m.waitForRunnable(ctx, token, collections)
		}
		if err == nil && !again {
			again, err = m.waitForHeldBack(ctx, token, collections)
		}
		if err != nil || !again {
			return err
		}
	}
}

// waitForRunnable goes through the runnable documents, the one that lacks the
// oldest operation first, and waits for each that lacks something the token covers.
// In that order the first one that lacks only what is beyond the whole token ends
// the pass. It reports whether it has waited: what became runnable behind the pass
// is found by another one.
func (m *Materializer) waitForRunnable(ctx context.Context, token Token, collections []string) (waited bool, err error) {
	for row, err := range m.st.Runnable(ctx, collections) {
		if err != nil {
			return false, err
		}
		if row.Since.Position > token.Max() {
			break
		}
		lacks, err := m.lacks(ctx, token, row.Key)
		if err != nil {
			return false, err
		}
		if !lacks {
			continue // it is not as it was, or lacks what another writer has beyond the token
		}
		waited = true
		if err := m.waitFor(ctx, token, row.Key); err != nil && !errors.Is(err, ErrParked) && !gone(err) {
			return false, err
		}
	}
	return waited, nil
}

// waitForHeldBack waits for a document that lacks something the token covers, be it
// runnable, or of a collection that is paused or held: those are not among the runnable
// ones. It reports false if there is none.
func (m *Materializer) waitForHeldBack(ctx context.Context, token Token, collections []string) (bool, error) {
	for _, c := range collections {
		key, err := m.lackingIn(ctx, token, c)
		if err != nil {
			return false, err
		}
		if key.ID == "" {
			continue
		}
		err = m.waitFor(ctx, token, key)
		if errors.Is(err, ErrParked) || err != nil && gone(err) {
			err = nil
		}
		return true, err
	}
	return false, nil
}

// lackingIn returns a document of a collection that lacks something the token
// covers and is not parked, or the zero key. That is the oldest one or none, unless
// the token has writers that are ahead of others: then all are looked at.
func (m *Materializer) lackingIn(ctx context.Context, token Token, collection string) (Key, error) {
	counts, err := m.st.Count(ctx, collection)
	if err != nil || counts.Oldest.Key.ID == "" || counts.Oldest.Since.Position > token.Max() {
		return Key{}, err
	}
	lacks, err := m.lacks(ctx, token, counts.Oldest.Key)
	if lacks || err != nil {
		return counts.Oldest.Key, err
	}
	for doc, err := range m.st.Scan(ctx, collection, "", store.WithoutViews) {
		if err != nil {
			return Key{}, err
		}
		if !doc.Dirty() || doc.Parked() {
			continue
		}
		g, err := m.goal(ctx, token, doc.Key)
		if err != nil {
			return Key{}, err
		}
		if !g.met(&doc) {
			return doc.Key, nil
		}
	}
	return Key{}, nil
}

// lacks reports whether a document's view lacks operations that the token
// covers.
func (m *Materializer) lacks(ctx context.Context, token Token, key Key) (bool, error) {
	g, err := m.goal(ctx, token, key)
	if err != nil {
		return false, err
	}
	docs, err := m.st.Load(ctx, []store.Key{key}, store.WithoutViews)
	if err != nil {
		return false, err
	}
	return !g.met(&docs[0]), nil
}

// waitFor waits for one document.
func (m *Materializer) waitFor(ctx context.Context, token Token, key Key) error {
	g, err := m.goal(ctx, token, key)
	if err != nil {
		return err
	}
	var parked error
	err = m.await(ctx, key, func() (bool, error) {
		docs, err := m.st.Load(ctx, []store.Key{key}, store.WithoutViews)
		if err != nil {
			return false, err
		}
		return m.enough(ctx, docs[0], g, &parked)
	})
	if err != nil {
		return err
	}
	return parked
}

// parkedBehind returns an error that names parked documents which lack what the
// token covers, or nil if there are none.
func (m *Materializer) parkedBehind(ctx context.Context, token Token, collections []string) (parked, err error) {
	const most = 5
	var names []string
	n := 0
	for _, collection := range collections {
		for doc, err := range m.st.Parked(ctx, collection) {
			if err != nil {
				return nil, err
			}
			g, err := m.goal(ctx, token, doc.Key)
			if err != nil {
				return nil, err
			}
			if g.met(&doc) {
				continue
			}
			if n++; n <= most {
				names = append(names, doc.Key.String())
			}
		}
	}
	switch {
	case n == 0:
		return nil, nil
	case n > most:
		names = append(names, fmt.Sprintf("and %d more", n-most))
	}
	return fmt.Errorf("%w: %s", ErrParked, strings.Join(names, ", ")), nil
}
