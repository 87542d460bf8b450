package sim

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/refold-go/refold/store"
)

// Changes implements [store.Feed]. The rows are those of one moment, and others may
// go on between two of them.
func (h *handle) Changes(ctx context.Context, name string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	return func(yield func(store.Change, error) bool) {
		sh, w := h.sh, h.p.w
		pl, _ := at(ctx)
		var rows []store.Change
		var f *follower
		for _, other := range w.followers {
			if other.name == pl.name {
				f = other
			}
		}
		var changed map[string]int64
		err := h.read(ctx, "changes", func() error {
			inside, err := sh.cursorInside(after)
			if err != nil {
				return err
			}
			for c, err := range sh.inner.Changes(context.Background(), name, inside, parts) {
				if err != nil {
					w.fail("%s reads changes after %s: %v", h.p.name, after, err)
					return err
				}
				if c.Cursor, err = sh.cursor(c.Cursor); err != nil {
					return err
				}
				sh.checkChange(&c)
				rows = append(rows, c)
			}
			changed = sh.checkMissed(f, after, rows)
			return nil
		})
		if err != nil {
			yield(store.Change{}, err)
			return
		}
		for i, c := range rows {
			if i > 0 {
				w.park(pl, "between changes", nil)
				if h.p.dead.Load() {
					yield(store.Change{}, errDead)
					return
				}
			}
			if f != nil {
				sh.told[told{f.name, c.Document.Key.ID}] = changed[c.Document.Key.ID]
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// checkChange compares a document of the feed with the model.
func (sh *shared) checkChange(c *store.Change) {
	d := sh.model.doc(c.Document.Key)
	if c.Document.Applied != d.applied || c.Document.Parked() != d.parked || !bytes.Equal(c.Document.View, d.view(d.applied)) {
		sh.w.fail("the feed has %+v, want applied %d, parked %t", c.Document, d.applied, d.parked)
	}
}

// checkMissed checks that rows have all that changed and that the follower was not
// told, and returns which change of each document it is told by them.
func (sh *shared) checkMissed(f *follower, after store.Cursor, rows []store.Change) map[string]int64 {
	changed := make(map[string]int64)
	for _, c := range rows {
		changed[c.Document.Key.ID] = sh.model.doc(c.Document.Key).changed
	}
	if f == nil || after != f.cursor {
		return changed
	}
	for _, k := range sh.w.keys() {
		d := sh.model.doc(k)
		if _, ok := changed[k.ID]; !ok && d.changed > f.has[k.ID].changed {
			sh.w.fail("%s is at %s, and is not told change %d of %s to %d", f.name, after, d.changed, k, d.applied)
		}
	}
	return changed
}

// LastChange implements [store.Feed].
func (h *handle) LastChange(ctx context.Context) (c store.Cursor, err error) {
	err = h.read(ctx, "last change", func() (err error) {
		if c, err = h.sh.inner.LastChange(context.Background()); err == nil {
			c, err = h.sh.cursor(c)
		}
		return err
	})
	return c, err
}

// cursor turns a cursor of the inner store into one that outlives it.
func (sh *shared) cursor(c store.Cursor) (store.Cursor, error) { return moved(c, sh.outside) }

// cursorInside turns it back.
func (sh *shared) cursorInside(c store.Cursor) (store.Cursor, error) {
	if _, err := sh.insideOf(); err != nil {
		return c, err
	}
	return moved(c, sh.of)
}

// moved is the same place in a store of another incarnation.
func moved(c store.Cursor, to store.Incarnation) (store.Cursor, error) {
	if c.IsZero() {
		return c, nil
	}
	return store.ParseCursor(fmt.Sprintf("%016x", uint64(to)) + c.String()[16:])
}

// lastChange is how far the feed is.
func (sh *shared) lastChange() int64 {
	c, err := sh.inner.LastChange(context.Background())
	if err != nil {
		sh.w.fail("the last change: %v", err)
	}
	return c.Complete()
}

// goBeyond moves the numbers of changes on to where they were before a power cut:
// a store does so when it is opened, because they may have been seen.
func (sh *shared) goBeyond(last int64) {
	beyond := func(st store.Backend) error {
		if err := st.Register(context.Background(), "beyond", 1); err != nil {
			return err
		}
		return st.Drop(context.Background(), "beyond")
	}
	for sh.lastChange() < last && sh.w.err == nil {
		if err := beyond(sh.inner); err != nil {
			sh.w.fail("moving the numbers of changes on: %v", err)
		}
		sh.log(true, beyond)
	}
}
