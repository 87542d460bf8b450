package materializer

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/refold-go/refold/store"
)

// Verify makes derived documents anew, from the contributions that are stored or by
// reading, and compares the result with the stored view byte for byte. It then maps the views of
// all that contributes to them anew, and compares what they give with the contributions. If
// the options choose all documents, it also maps each document of the sources, and looks whether
// what it gives is there; what is missing counts once for each source. It changes nothing, holds a page of contributions
// and of views in memory at a time, and may run beside Run. What is dirty or parked, or what
// changes meanwhile, is passed over, so that a view is compared with its sources as they were when it was made.
// Operations of the result counts contributions, or documents that were read. See [Collection.Verify].
func (d *Derived[V]) Verify(ctx context.Context, options VerifyOptions) (Verified, error) {
	v, err := d.c.verifyChosen(ctx, options, d.verify)
	if err != nil || len(options.IDs) > 0 || options.Count > 0 || options.Fraction > 0 {
		return v, err
	}
	err = d.verifyMissing(ctx, func(missing Difference) { v.add(missing, options) })
	return v, err
}

// verify compares one document. It returns nil if all is well.
func (d *Derived[V]) verify(ctx context.Context, id string) (*Difference, int64, error) {
	m, key := d.c.m, d.c.key(id)
	if err := store.CheckKey(key); err != nil {
		return nil, 0, err
	}
	docs, err := m.st.Load(ctx, []store.Key{key}, store.WithViews)
	if err != nil {
		return nil, 0, err
	}
	doc := &docs[0]
	if doc.Dirty() || doc.Parked() || doc.Applied == 0 || doc.Version != d.c.spec.Version {
		return nil, 0, nil
	}
	run := foldRun{key: key, doc: doc, room: mostRoom}
	one, err := d.remade(ctx, &run)
	if err != nil {
		return nil, 0, err
	}
	if one.err == nil && one.is(doc.View, doc.Deleted) {
		differs, err := d.checkMapped(ctx, doc)
		if differs == nil || err != nil {
			return nil, one.read, err
		}
		if same, err := d.unchanged(ctx, doc, one.reads); err != nil || !same {
			return nil, one.read, err
		}
		return differs, one.read, nil
	}
	other, err := d.remade(ctx, &run)
	if err != nil {
		return nil, 0, err
	}
	same, err := d.unchanged(ctx, doc, one.reads)
	if err != nil || !same || errors.Is(one.err, errMoved) || errors.Is(other.err, errMoved) {
		return nil, 0, err
	}
	differs := &Difference{ID: id, Applied: doc.Applied, Seq: doc.Applied, Kind: Damaged}
	switch {
	case one.err != nil && other.err != nil:
		differs.Kind, differs.Err = Failing, one.err
	case one.err != nil || other.err != nil || !one.is(other.view, other.deleted):
		differs.Kind, differs.Err = Impure, join(one.err, other.err)
	}
	return differs, one.read, nil
}

// remade is a derived document that was made for comparing.
type remade struct {
	view    []byte
	deleted bool
	read    int64
	reads   []store.Read
	err     error
}

func (r *remade) is(view []byte, deleted bool) bool {
	return r.deleted == deleted && (deleted || bytes.Equal(r.view, view))
}

// remade makes a document anew. The error is none of making it.
func (d *Derived[V]) remade(ctx context.Context, run *foldRun) (remade, error) {
	of := d.make(ctx, run)
	if errors.Is(of.trouble, errMoved) {
		return remade{err: errMoved}, nil
	}
	if err := join(of.trouble, context.Cause(ctx)); err != nil {
		return remade{}, err
	}
	r := remade{deleted: of.deleted, read: int64(of.read), reads: of.reads, err: of.err}
	if r.err == nil && !r.deleted {
		r.view, r.err = d.encode(of.state)
	}
	return r, nil
}

// unchanged reports whether a document is as it was, and would be made from the same as
// when its view was.
func (d *Derived[V]) unchanged(ctx context.Context, doc *store.Document, reads []store.Read) (bool, error) {
	now, err := d.c.m.st.Load(ctx, []store.Key{doc.Key}, store.WithoutViews)
	if err != nil {
		return false, err
	}
	recorded, err := d.c.m.st.Reads(ctx, doc.Key)
	if err != nil {
		return false, err
	}
	return now[0].Head == doc.Head && now[0].Epoch == doc.Epoch && slices.Equal(recorded, reads), nil
}
