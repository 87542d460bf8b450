package memory

import (
	"context"
	"sort"

	"github.com/refold-go/refold/store"
)

// Load implements [store.Store].
func (s *Store) Load(ctx context.Context, keys []store.Key, parts store.Parts) ([]store.Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	documents := make([]store.Document, len(keys))
	for i, k := range keys {
		if c, d := s.namedLocked(k); d != nil {
			documents[i] = c.snapshot(d, k.Collection, parts)
		} else {
			documents[i].Key = k
		}
	}
	return documents, nil
}

// Operations implements [store.Store].
func (s *Store) Operations(ctx context.Context, ranges []store.Range, budget store.Budget) ([][]store.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	pages := make([][]store.Operation, len(ranges))
	count, size := 0, int64(0)
	for i, r := range ranges {
		_, d := s.namedLocked(r.Key)
		to := d.head()
		if r.To > 0 {
			to = min(to, r.To)
		}
		all := d.between(r.From, to)
		fit, bytes := 0, 0 // the first that does not fit, and the size of the others
		full := false
		for ; fit < len(all); fit++ {
			op := &all[fit]
			size += int64(len(op.Body) + len(op.Meta))
			full = budget.Operations > 0 && count >= budget.Operations || budget.Bytes > 0 && size > budget.Bytes
			if full = full && count > 0; full {
				break
			}
			bytes += len(op.Body) + len(op.Meta)
			count++
		}
		if fit > 0 {
			pages[i] = copyOperations(all[:fit], bytes)
		}
		if full {
			break
		}
	}
	return pages, nil
}

// copyOperations returns copies for the caller to keep. All bodies and metas, of
// which bytes is the size, are in one piece of memory.
func copyOperations(stored []operation, bytes int) []store.Operation {
	copied, memory := make([]store.Operation, len(stored)), make([]byte, 0, bytes)
	piece := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		from := len(memory)
		memory = append(memory, b...)
		return memory[from:len(memory):len(memory)]
	}
	for i := range stored {
		op := stored[i].Operation
		op.Meta, op.Body = piece(op.Meta), piece(op.Body)
		copied[i] = op
	}
	return copied
}

// Resolve implements [store.Resolver].
func (s *Store) Resolve(ctx context.Context, token store.Token, keys []store.Key) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	cut, err := store.CutOf(token, s.incarnation, s.end)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if err := s.notDerivedLocked("key to resolve", k); err != nil {
			return nil, err
		}
	}
	seqs := make([]int64, len(keys))
	for i, k := range keys {
		d := s.documentLocked(k)
		seqs[i] = int64(sort.Search(int(d.head()), func(j int) bool { return d.operations[j].Position > cut }))
	}
	return seqs, nil
}

// End implements [store.Resolver].
func (s *Store) End(ctx context.Context) (store.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return store.Token{}, err
	}
	return store.NewToken(s.incarnation, s.end), nil
}
