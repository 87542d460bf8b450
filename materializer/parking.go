package materializer

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/refold-go/refold/store"
)

// ParkedDocument is a document whose fold failed for good.
type ParkedDocument struct {
	ID string
	// Version is that of the fold that failed.
	Version       int
	Applied, Head int64
	// Seq is the operation at which the fold failed, Attempts how many runs
	// failed there, First and Last when the first and the last one did.
	Seq         int64
	Attempts    int
	First, Last time.Time
	// Error is the text of the last error; Stack is the stack of a panic, or empty.
	Error, Stack string
}

// Parked returns the parked documents of the collection in the order of the
// bytes of their ids: those of the generation that is served, and then, if that is
// another one, those of the generation that the collection's own fold makes.
func (c *Collection[S, O]) Parked(ctx context.Context) iter.Seq2[ParkedDocument, error] {
	return func(yield func(ParkedDocument, error) bool) {
		names, err := c.servedAndOwn(ctx)
		if err != nil {
			yield(ParkedDocument{}, err)
			return
		}
		for doc, err := range inTurn(names, func(name string) iter.Seq2[store.Document, error] { return c.m.st.Parked(ctx, name) }) {
			var p ParkedDocument
			if err == nil {
				f := doc.Failure
				p = ParkedDocument{
					ID: doc.Key.ID, Version: doc.Version, Applied: doc.Applied, Head: doc.Head,
					Seq: f.Seq, Attempts: f.Attempts, First: f.First, Last: f.Last,
					Error: f.Error, Stack: f.Stack,
				}
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// servedAndOwn returns the names of the generation that is served and, if that is
// another one, of that which the fold of c makes.
func (c *Collection[S, O]) servedAndOwn(ctx context.Context) ([]string, error) {
	stored, err := c.m.st.Collections(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{c.spec.Name}
	for _, s := range stored {
		if s.Name == c.spec.Name && s.Version != c.spec.Version {
			names = append(names, c.ownKey("").Collection)
		}
	}
	return names, nil
}

// inTurn returns the elements of several streams.
func inTurn[T any](names []string, stream func(name string) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, name := range names {
			for element, err := range stream(name) {
				if !yield(element, err) || err != nil {
					return
				}
			}
		}
	}
}

// Resume lets parked documents be folded again, with no attempts counted, as
// one does after the fold was mended: in the generation that is served and in that
// which the collection's own fold makes. It returns how many were parked; others
// are left alone.
func (c *Collection[S, O]) Resume(ctx context.Context, ids ...string) (int, error) {
	names, err := c.servedAndOwn(ctx)
	if err != nil {
		return 0, err
	}
	keys := make([]store.Key, 0, len(names)*len(ids))
	for _, name := range names {
		for _, id := range ids {
			keys = append(keys, store.Key{Collection: name, ID: id})
		}
	}
	return c.m.st.Resume(ctx, keys)
}

// resumeAtOnce is how many documents ResumeAll resumes in one transaction.
const resumeAtOnce = 256

// ResumeAll resumes all parked documents of the collection, some at a time. It
// returns how many, also with an error; calling it again goes on.
func (c *Collection[S, O]) ResumeAll(ctx context.Context) (int, error) {
	resumed := 0
	ids := make([]string, 0, resumeAtOnce)
	flush := func() error {
		n, err := c.Resume(ctx, slices.Compact(slices.Sorted(slices.Values(ids)))...)
		resumed, ids = resumed+n, ids[:0]
		return err
	}
	for doc, err := range c.Parked(ctx) {
		if err != nil {
			return resumed, err
		}
		if ids = append(ids, doc.ID); len(ids) == resumeAtOnce {
			if err := flush(); err != nil {
				return resumed, err
			}
		}
	}
	if len(ids) == 0 {
		return resumed, nil
	}
	return resumed, flush()
}

// Discard marks one operation of a document as discarded, on the record: it stays
// in the log, and every fold passes over it from then on. If the document is
// parked at that operation it is resumed. by and why, who does it and for what
// reason, are 1 to 4,096 bytes each. Discarding again changes nothing. Errors:
// [ErrNotFound] if the document does not have the operation, [ErrInvalid] if its
// view contains it already.
func (c *Collection[S, O]) Discard(ctx context.Context, id string, seq int64, by, why string) error {
	key := c.key(id)
	if err := store.CheckKey(key); err != nil {
		return err
	}
	return c.m.st.Discard(ctx, store.Discard{Key: key, Seq: seq, By: by, Why: why})
}

// DiscardedOperation is the record of an operation that every fold passes over.
type DiscardedOperation struct {
	ID  string
	Seq int64
	// By and Why say who discarded it and for what reason, At is when.
	By, Why string
	At      time.Time
}

// Discarded returns the record of the collection's discarded operations, in the
// order of the bytes of their documents' ids and of seq.
func (c *Collection[S, O]) Discarded(ctx context.Context) iter.Seq2[DiscardedOperation, error] {
	return func(yield func(DiscardedOperation, error) bool) {
		for d, err := range c.m.st.Discards(ctx, c.spec.Name) {
			if !yield(DiscardedOperation{ID: d.Key.ID, Seq: d.Seq, By: d.By, Why: d.Why, At: d.At}, err) || err != nil {
				return
			}
		}
	}
}
