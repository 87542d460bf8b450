package store

import (
	"context"
	"iter"
)

// Store is the core of a backend. All methods may be called at once from any
// number of goroutines. What a caller passes in may be used again by the caller
// when the call has returned; what a method returns belongs to the caller.
//
// A method that writes returns [ErrBusy] with the context's cause if ctx ends
// before anything is written; one that reads may return the cause. After Close,
// every method returns [ErrClosed]. An unknown collection is not
// an error: it has no documents, and the first append to it makes it.
//
// A stream (iter.Seq2) holds no connection, lock or transaction while its
// caller has the element, so the loop may call any method. It ends after the
// first error.
type Store interface {
	// Append stores all entries of all documents in one transaction, or none.
	// Per document it looks at the ids first, then at the expected head: an entry
	// whose id the document has already is a duplicate and adds nothing
	// ([ErrIDReused] if its kind or body is another), and Head is compared only
	// if at least one entry is new ([ErrConflict]). So the same call again, after
	// [ErrInDoubt], gives back what the first one stored. The new entries get the
	// next seqs and positions, the head of each touched document moves once, and
	// each is dirty when the transaction ends.
	//
	// A document may appear once in appends. Limits: see [CheckAppends].
	//
	// If the error is [ErrInDoubt] it is unknown whether the entries are stored;
	// any other error means that nothing is. Once the entries are being written,
	// Append returns what becomes of them, whatever happens to ctx. The memory of appends is
	// the caller's again when they are stored: the store has copied what it keeps.
	Append(ctx context.Context, appends []Append) (Appended, error)

	// Load returns each document, in the order of keys. A document without
	// operations is returned with Head 0.
	Load(ctx context.Context, keys []Key, parts Parts) ([]Document, error)

	// Operations returns for each range its operations in order of seq, up to
	// budget for all ranges together, filled from the first range on. What it
	// returns of a range is a prefix of it. The first operation is returned
	// whatever its size.
	Operations(ctx context.Context, ranges []Range, budget Budget) ([][]Operation, error)

	// Commit stores the results of runs, each under its own guard, and says what
	// became of each, in the same order. One that is stale changes nothing and
	// does not keep the others from being stored. A document that does not exist
	// is stale, because it may have been removed during the run. A document may appear
	// once, under whichever name. A commit that is not stale, with Applied beyond the document's head, is
	// [ErrInvalid], for the whole call.
	//
	// An error is for the whole call: after [ErrInDoubt] it is unknown which are
	// stored, after any other error none is. A commit of views alone may be lost
	// by a power cut; its documents are then dirty again. A commit that parks is
	// as durable as an append.
	Commit(ctx context.Context, commits []Commit) ([]Outcome, error)

	// Runnable returns the runnable documents of the named collections, the one
	// with the lowest Since first; documents may share one. A document that becomes runnable, or ceases to
	// be, while the caller is in the loop may be returned or not.
	Runnable(ctx context.Context, collections []string) iter.Seq2[Runnable, error]

	// Scan returns the documents of a collection in ascending order of the bytes
	// of their ids, from the first id that is greater than after. Each is as it
	// was at some moment during the loop.
	Scan(ctx context.Context, collection, after string, parts Parts) iter.Seq2[Document, error]
}

// Parts says what to load of a document.
type Parts bool

const (
	// WithoutViews loads everything but the view.
	WithoutViews Parts = false
	// WithViews loads the view too.
	WithViews Parts = true
)

// Range is a run of operations of one document.
type Range struct {
	Key Key
	// From is the first seq wanted; 0 and 1 mean the first operation.
	From int64
	// To is the last seq wanted; 0 means up to the head.
	To int64
}

// Budget bounds what one call reads into memory.
type Budget struct {
	// Operations is the most operations that are returned; 0 means no bound.
	Operations int
	// Bytes bounds the sum of the bodies and metas; 0 means no bound.
	Bytes int64
}

// ReadOperations returns the operations of a document from a seq on, up to the
// head that it has when the loop gets there, reading them in pages.
func ReadOperations(ctx context.Context, s Store, key Key, from int64) iter.Seq2[Operation, error] {
	return func(yield func(Operation, error) bool) {
		next := max(from, 1)
		for {
			page, err := s.Operations(ctx, []Range{{Key: key, From: next}}, pageBudget)
			if err != nil {
				yield(Operation{}, err)
				return
			}
			if len(page[0]) == 0 {
				return
			}
			for _, op := range page[0] {
				if !yield(op, nil) {
					return
				}
			}
			next = page[0][len(page[0])-1].Seq + 1
		}
	}
}

var pageBudget = Budget{Operations: 1024, Bytes: 4 << 20}
