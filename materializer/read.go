package materializer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/worker"
)

// View is a document as it is read.
type View[S any] struct {
	ID string
	// Version is that of the fold that made it: of the generation that is served.
	Version int
	// State is the state after the operations 1 to Applied; the zero state if
	// Applied is 0 or the document is deleted. It shares no memory with anything.
	State S
	// Applied is the highest seq that State contains.
	Applied int64
	// Head is the seq of the document's last operation when the view was read; 0
	// if the document does not exist.
	Head int64
	// Parked tells that the fold failed for good at operation Applied+1, so that
	// State is as good as it gets until the document is resumed.
	Parked bool
	// Deleted tells that the fold said so at operation Applied; see [Deleted].
	Deleted bool
	// Epoch grows each time that somebody else takes the document up, if the store is
	// shared. A sink outside that keeps the highest that it has seen of each document,
	// and refuses what comes with a lower one, is not set back by a process that stalled
	// on the way to it. After a power cut a view may come with a lower one, until its
	// document, which is dirty then, has been folded again. Epochs are those of one Version:
	// when another one is served, views may come with lower ones, and a sink begins anew.
	Epoch int64
}

// ReadOption is an option of a read.
type ReadOption struct{ atLeast Token }

// AtLeast makes a read wait until the view contains all operations of the
// document that the token covers. It does not wait for a parked document: then
// the last good view comes with [ErrParked] and a [*FoldError], unless it contains
// them.
func AtLeast(token Token) ReadOption { return ReadOption{atLeast: token} }

// Get returns the stored view of a document. With [AtLeast] it waits for it;
// several mean all of them. Errors: [ErrNotFound] if the document has no
// operations; [ErrForgotten] if it was erased; [ErrDeleted], with all of the view
// but a state, if it is deleted; [ErrParked], with the view, as said there;
// [ErrForeignToken] and
// [ErrFutureToken] at once; the context's cause; [ErrNotRunning] if Run returns
// meanwhile. If Run has not been called yet, it waits.
func (c *Collection[S, O]) Get(ctx context.Context, id string, options ...ReadOption) (View[S], error) {
	key := c.key(id)
	if err := store.CheckKey(key); err != nil {
		return View[S]{}, err
	}
	var least goal
	for _, o := range options {
		seq, err := c.m.resolve(ctx, o.atLeast, key)
		if err != nil {
			return View[S]{}, err
		}
		least.seq = max(least.seq, seq)
	}
	doc, parked := store.Document{}, error(nil)
	err := c.m.await(ctx, key, func() (bool, error) {
		docs, err := c.m.st.Load(ctx, []store.Key{key}, store.WithViews)
		if err != nil {
			return false, err
		}
		doc = docs[0]
		return c.m.enough(ctx, doc, least, &parked)
	})
	if err != nil {
		return View[S]{}, err
	}
	if doc.Head == 0 {
		return View[S]{}, c.m.gone(ctx, key)
	}
	view, err := c.view(doc)
	return view, join(err, view.deleted(key), parked)
}

// deleted returns the error that says so, or nil.
func (v *View[S]) deleted(key Key) error {
	if !v.Deleted {
		return nil
	}
	return fmt.Errorf("%w: %s at seq %d", ErrDeleted, key, v.Applied)
}

// join is errors.Join that leaves a single error as it is.
func join(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// gone returns why a document has no operations: [ErrForgotten], [ErrNotFound], or
// an error of the store.
func (m *Materializer) gone(ctx context.Context, key Key) error {
	forgotten, err := m.st.Forgotten(ctx, key)
	switch {
	case err != nil:
		return err
	case forgotten:
		return fmt.Errorf("%w: %s", ErrForgotten, key)
	}
	return fmt.Errorf("%w: %s", ErrNotFound, key)
}

// resolve returns the document's seq that a token means.
func (m *Materializer) resolve(ctx context.Context, token Token, key Key) (int64, error) {
	if token.IsZero() {
		return 0, nil
	}
	seqs, err := m.st.Resolve(ctx, token, []Key{key})
	if err != nil {
		return 0, err
	}
	return seqs[0], nil
}

// enough reports whether a document's view is as it is to be, or never will. If
// not, it makes sure that somebody works on it. It is an error if the document
// does not have the operation any more: it was erased.
func (m *Materializer) enough(ctx context.Context, doc store.Document, g goal, parked *error) (bool, error) {
	switch {
	case g.met(&doc):
		return true, nil
	case doc.Head < g.seq:
		return false, m.gone(ctx, doc.Key)
	case doc.Parked():
		f := doc.Failure
		*parked = fmt.Errorf("%w: %w", ErrParked, &FoldError{
			Collection: doc.Key.Collection, Document: doc.Key.ID,
			Seq: f.Seq, Attempt: f.Attempts, Stack: f.Stack, Err: errors.New(f.Error),
		})
		return true, nil
	}
	own := m.ownKey(&doc)
	switch {
	case m.suspect(own, doc.Since, doc.Lease):
		m.suspects.look() // the pool would pass it over
	case doc.Failure != nil && doc.Failure.Delay > 0, m.sharing.elsewhere(doc.Lease):
		// It is looked at when that is over, also if the table has no room for it.
		// A signal would then be one that is answered at once, and so on in a circle.
	default:
		m.nudge(own)
	}
	return false, nil
}

// nudge signals a document that is dirty, unless it is in hand already, or its fold
// is not registered here.
func (m *Materializer) nudge(key Key) {
	if !m.running.Load() {
		return
	}
	if c := m.collection(key.Collection); c == nil || c.paused.Load() || c.isHeld() {
		return
	}
	if m.suspects.lane.Load().has(key) || m.beside.Load().has(key) {
		return // the pool would leave it alone, and who waits is woken when the other one is through
	}
	if s := m.table.State(key); s == dispatcher.Idle || s == dispatcher.Cooling {
		m.again(key)
	}
}

// again says that a document is dirty to who runs it.
func (m *Materializer) again(own Key) {
	if c := m.collection(own.Collection); c != nil && !c.served.Load() {
		m.lookAside()
		return
	}
	m.table.Signal(own)
}

// view decodes a loaded document.
func (c *Collection[S, O]) view(doc store.Document) (View[S], error) {
	v := View[S]{ID: doc.Key.ID, Version: doc.Version, Applied: doc.Applied, Head: doc.Head, Parked: doc.Parked(), Deleted: doc.Deleted, Epoch: doc.Epoch}
	if doc.Applied == 0 || doc.Deleted {
		return v, nil
	}
	other := doc.Version != c.spec.Version
	err := worker.Guard(func() (err error) {
		if other && c.spec.Old != nil {
			v.State, err = c.spec.Old(doc.Version, doc.View)
		} else {
			v.State, err = c.spec.Views.Decode(doc.View)
		}
		return err
	})
	switch {
	case err != nil && other:
		return View[S]{}, fmt.Errorf("refold: decoding the view of %s, which version %d made, by version %d: %w", doc.Key, doc.Version, c.spec.Version, err)
	case err != nil:
		return View[S]{}, fmt.Errorf("refold: decoding the view of %s: %w", doc.Key, err)
	}
	return v, nil
}

// GetMany returns the views of several documents, in the order of ids. A
// document that does not exist has Head 0, and a deleted one has Deleted set;
// neither is an error.
func (c *Collection[S, O]) GetMany(ctx context.Context, ids ...string) ([]View[S], error) {
	keys := make([]store.Key, len(ids))
	for i, id := range ids {
		keys[i] = c.key(id)
		if err := store.CheckKey(keys[i]); err != nil {
			return nil, err
		}
	}
	docs, err := c.m.st.Load(ctx, keys, store.WithViews)
	if err != nil {
		return nil, err
	}
	views := make([]View[S], len(docs))
	for i := range docs {
		if views[i], err = c.view(docs[i]); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// All returns the views of all documents of the collection but the deleted ones,
// in the order of the bytes of their ids. Each is as it was at some moment during
// the loop.
func (c *Collection[S, O]) All(ctx context.Context) iter.Seq2[View[S], error] {
	return func(yield func(View[S], error) bool) {
		for doc, err := range c.m.st.Scan(ctx, c.spec.Name, "", store.WithViews) {
			if doc.Deleted {
				continue
			}
			var view View[S]
			if err == nil {
				view, err = c.view(doc)
			}
			if !yield(view, err) || err != nil {
				return
			}
		}
	}
}
