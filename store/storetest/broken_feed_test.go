package storetest_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// skippingLog leaves out an operation at the border of each page.
type skippingLog struct {
	*memory.Store
	page store.Position
}

func (s skippingLog) Log(ctx context.Context, from, to store.Token) iter.Seq2[store.Logged, error] {
	return kept(s.Store.Log(ctx, from, to), func(l store.Logged) bool { return l.Position%s.page != 0 })
}

// openLog reads to the end of the log, whatever the second token is.
type openLog struct{ *memory.Store }

func (s openLog) Log(ctx context.Context, from, _ store.Token) iter.Seq2[store.Logged, error] {
	return s.Store.Log(ctx, from, store.Token{})
}

// silentLog says nothing of how far it is.
type silentLog struct{ *memory.Store }

func (s silentLog) Log(ctx context.Context, from, to store.Token) iter.Seq2[store.Logged, error] {
	return func(yield func(store.Logged, error) bool) {
		for l, err := range s.Store.Log(ctx, from, to) {
			if err != nil {
				err = fmt.Errorf("%w: %s", store.ErrFutureToken, from)
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// reusedNumbers numbers the changes of each loop anew.
type reusedNumbers struct{ *memory.Store }

func (s reusedNumbers) Changes(ctx context.Context, name string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	return func(yield func(store.Change, error) bool) {
		n := int64(0)
		for c, err := range s.Store.Changes(ctx, name, after, parts) {
			var of store.Incarnation
			if err == nil {
				if _, err := fmt.Sscanf(c.Cursor.String(), "%x:", &of); err != nil {
					panic(err)
				}
				n++
				c.Cursor = store.NewCursor(of, n)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// noDeleted leaves out deleted documents.
type noDeleted struct{ *memory.Store }

func (s noDeleted) Changes(ctx context.Context, name string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	return kept(s.Store.Changes(ctx, name, after, parts), func(c store.Change) bool { return !c.Document.Deleted })
}

// lastRun takes the mark of history from the last run alone.
type lastRun struct {
	*memory.Store
	history *sync.Map // by key
}

func (s lastRun) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	outcomes, err := s.Store.Commit(ctx, commits)
	for i := range outcomes {
		if outcomes[i] != store.Stale && commits[i].Applied > commits[i].Loaded {
			s.history.Store(commits[i].Key, commits[i].History)
		}
	}
	return outcomes, err
}

func (s lastRun) Changes(ctx context.Context, name string, after store.Cursor, parts store.Parts) iter.Seq2[store.Change, error] {
	return func(yield func(store.Change, error) bool) {
		for c, err := range s.Store.Changes(ctx, name, after, parts) {
			if last, ok := s.history.Load(c.Document.Key); ok {
				c.History = last.(bool)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// noHistory stores history as if it were new.
type noHistory struct{ *memory.Store }

func (s noHistory) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	appends = slices.Clone(appends)
	for i := range appends {
		appends[i].History = false
	}
	return s.Store.Append(ctx, appends)
}

// kept passes on the elements that keep wants, and errors.
func kept[T any](stream iter.Seq2[T, error], keep func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for element, err := range stream {
			if (err != nil || keep(element)) && !yield(element, err) {
				return
			}
		}
	}
}
