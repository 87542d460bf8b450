package storetest_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/storetest"
)

// faults are backends that break one sentence of the contract, and the section
// that must find it.
var faults = map[string]struct {
	section string
	open    func() store.Backend
}{
	"half an append":     {"append", func() store.Backend { return halfAppend{memory.New(nil)} }},
	"token too low":      {"append", func() store.Backend { return lowToken{memory.New(nil)} }},
	"no ids":             {"ids", func() store.Backend { return noIDs{memory.New(nil)} }},
	"head before ids":    {"ids", func() store.Backend { return headFirst{memory.New(nil)} }},
	"late commit":        {"commit", func() store.Backend { return lateCommit{memory.New(nil)} }},
	"newest first":       {"runnable", func() store.Backend { return newestFirst{memory.New(nil)} }},
	"first page only":    {"runnable", func() store.Backend { return firstPage{memory.New(nil)} }},
	"budget for each":    {"operations", func() store.Backend { return budgetForEach{memory.New(nil)} }},
	"seq too high":       {"resolver", func() store.Backend { return highSeq{memory.New(nil)} }},
	"claim for everyone": {"claimer", func() store.Backend { return freeClaim{memory.New(nil)} }},
	"never closed":       {"life", func() store.Backend { return neverClosed{memory.New(nil)} }},
	"late commit, model": {"model", func() store.Backend { return lateCommit{memory.New(nil)} }},
	"no ids, model":      {"model", func() store.Backend { return noIDs{memory.New(nil)} }},
}

// faultVariable names the fault in the environment of a child process, whose
// test must fail.
const faultVariable = "REFOLD_STORETEST_FAULT"

func TestFaultsAreFound(t *testing.T) {
	if name := os.Getenv(faultVariable); name != "" {
		storetest.Run(t, func(testing.TB) store.Backend { return faults[name].open() }, nil)
		return
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.timeout=60s",
				"-test.run=^TestFaultsAreFound$/^"+fault.section+"$", "-rapid.nofailfile", "-rapid.shrinktime=1ms")
			child.Env = append(os.Environ(), faultVariable+"="+name)
			output, err := child.CombinedOutput()
			if _, failed := errors.AsType[*exec.ExitError](err); !failed {
				t.Fatalf("the child ended with %v:\n%s", err, output)
			}
			if !strings.Contains(string(output), "--- FAIL: TestFaultsAreFound/"+fault.section) || strings.Contains(string(output), "panic:") {
				t.Errorf("section %s did not find it:\n%s", fault.section, output)
			}
		})
	}
}

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

func (freeClaim) Claim(context.Context) (func() error, error) {
	return func() error { return nil }, nil
}

// neverClosed stays open.
type neverClosed struct{ *memory.Store }

func (neverClosed) Close() error { return nil }
