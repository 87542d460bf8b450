package storetest_test

import (
	"context"
	"iter"
	"slices"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// halfAppend stores the first document of an append that is refused.
type halfAppend struct{ *memory.Store }

func (s halfAppend) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	result, err := s.Store.Append(ctx, appends)
	if err != nil && len(appends) > 1 {
		_, _ = s.Store.Append(ctx, appends[:1])
	}
	return result, err
}

// lowToken returns a token that does not cover the last document.
type lowToken struct{ *memory.Store }

func (s lowToken) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	before, err := s.End(ctx)
	if err != nil {
		return store.Appended{}, err
	}
	result, err := s.Store.Append(ctx, appends)
	result.Token = before
	return result, err
}

// noIDs stores operations without their ids.
type noIDs struct{ *memory.Store }

func (s noIDs) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	appends = slices.Clone(appends)
	for i := range appends {
		appends[i].Entries = slices.Clone(appends[i].Entries)
		for j := range appends[i].Entries {
			appends[i].Entries[j].ID = ""
		}
	}
	return s.Store.Append(ctx, appends)
}

// headFirst compares the head of a document before it looks at the ids.
type headFirst struct{ *memory.Store }

func (s headFirst) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	for _, a := range appends {
		documents, err := s.Load(ctx, []store.Key{a.Key}, store.WithoutViews)
		if err != nil {
			return store.Appended{}, err
		}
		if head := documents[0].Head; a.Head != nil && *a.Head != head {
			return store.Appended{}, &store.ConflictError{Key: a.Key, Expected: *a.Head, Actual: head}
		}
	}
	return s.Store.Append(ctx, appends)
}

// lateCommit guards nothing: it commits over whatever is there.
type lateCommit struct{ *memory.Store }

func (s lateCommit) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	commits = slices.Clone(commits)
	for i, c := range commits {
		documents, err := s.Load(ctx, []store.Key{c.Key}, store.WithoutViews)
		if err != nil {
			return nil, err
		}
		commits[i].Loaded = min(documents[0].Applied, c.Applied)
	}
	return s.Store.Commit(ctx, commits)
}

// newestFirst returns the runnable documents in the wrong order.
type newestFirst struct{ *memory.Store }

func (s newestFirst) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		var all []store.Runnable
		for r, err := range s.Store.Runnable(ctx, collections) {
			if err != nil {
				yield(r, err)
				return
			}
			all = append(all, r)
		}
		for _, r := range slices.Backward(all) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// firstPage returns the first 100 of the runnable documents.
type firstPage struct{ *memory.Store }

func (s firstPage) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		n := 0
		for r, err := range s.Store.Runnable(ctx, collections) {
			if n++; n > 100 || !yield(r, err) {
				return
			}
		}
	}
}

// budgetForEach gives the whole budget to each range.
type budgetForEach struct{ *memory.Store }

func (s budgetForEach) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	var pages [][]store.Operation
	for i := range ranges {
		page, err := s.Store.Operations(ctx, ranges[i:i+1], budget)
		if err != nil {
			return nil, err
		}
		pages = append(pages, page...)
	}
	return pages, nil
}

// highSeq resolves every token to the head.
type highSeq struct{ *memory.Store }

func (s highSeq) Resolve(ctx context.Context, token store.Token, keys []store.Key) ([]int64, error) {
	if _, err := s.Store.Resolve(ctx, token, keys); err != nil {
		return nil, err
	}
	end, err := s.End(ctx)
	if err != nil {
		return nil, err
	}
	return s.Store.Resolve(ctx, end, keys)
}

// freeClaim gives the store to everyone.
type freeClaim struct{ *memory.Store }

func (freeClaim) Claim(context.Context) (store.Claim, error) {
	free := func() error { return nil }
	return store.Claim{Release: free, Abandon: free}, nil
}

// neverClosed stays open.
type neverClosed struct{ *memory.Store }

func (neverClosed) Close() error { return nil }

// keptView stores a view where a document is deleted.
type keptView struct{ *memory.Store }

func (s keptView) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	commits = slices.Clone(commits)
	for i := range commits {
		commits[i].Deleted = false
	}
	return s.Store.Commit(ctx, commits)
}

// freeDiscard leaves a document parked.
type freeDiscard struct{ *memory.Store }

func (s freeDiscard) Discard(ctx context.Context, d store.Discard) error {
	documents, err := s.Load(ctx, []store.Key{d.Key}, store.WithoutViews)
	if err != nil || documents[0].Parked() {
		return err
	}
	return s.Store.Discard(ctx, d)
}

// pausedRuns notes that a collection is paused and does nothing about it.
type pausedRuns struct{ *memory.Store }

func (s pausedRuns) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		all, err := s.Collections(ctx)
		if err != nil {
			yield(store.Runnable{}, err)
			return
		}
		for _, c := range all {
			if err := s.Pause(ctx, c.Name, false); err != nil {
				yield(store.Runnable{}, err)
				return
			}
		}
		s.Store.Runnable(ctx, collections)(yield)
		for _, c := range all {
			_ = s.Pause(ctx, c.Name, c.Paused)
		}
	}
}

// parkedAreDirty counts parked documents as dirty ones too.
type parkedAreDirty struct{ *memory.Store }

func (s parkedAreDirty) Count(ctx context.Context, collection string) (store.Counts, error) {
	n, err := s.Store.Count(ctx, collection)
	n.Dirty += n.Parked
	return n, err
}

// shortMemory removes a document, and takes it again.
type shortMemory struct{ *memory.Store }

func (s shortMemory) Append(ctx context.Context, appends []store.Append) (store.Appended, error) {
	appends = slices.Clone(appends)
	for i, a := range appends {
		if yes, err := s.Forgotten(ctx, a.Key); err == nil && yes {
			appends[i].Key.ID += "'"
		}
	}
	return s.Store.Append(ctx, appends)
}

// anyVersion takes every version for the one that is served.
type anyVersion struct{ *memory.Store }

func (s anyVersion) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	documents, err := s.Store.Load(ctx, keys, parts)
	for i := range documents {
		if name, perr := store.ParseCollection(keys[i].Collection); perr == nil && documents[i].Head == 0 {
			served, serr := s.Store.Load(ctx, []store.Key{{Collection: name.Name, ID: keys[i].ID}}, parts)
			if serr != nil {
				return nil, serr
			}
			documents[i] = served[0]
			documents[i].Key = keys[i]
		}
	}
	return documents, err
}

// sinceSkips returns no two runnable documents with the same since.
type sinceSkips struct{ *memory.Store }

func (s sinceSkips) Runnable(ctx context.Context, collections []string) iter.Seq2[store.Runnable, error] {
	return func(yield func(store.Runnable, error) bool) {
		last := store.Position(0)
		for r, err := range s.Store.Runnable(ctx, collections) {
			if err == nil && r.Since.Position == last {
				continue
			}
			if last = r.Since.Position; !yield(r, err) {
				return
			}
		}
	}
}
