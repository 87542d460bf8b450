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
	documents, f := make([]store.Document, len(keys)), finder{s: s}
	var few [64][]byte
	views, size := few[:0], 0
	for i, k := range keys {
		var view []byte
		if c, d := f.findLocked(k); d != nil {
			c.snapshot(&documents[i], d, k.Collection, store.WithoutViews)
			view = d.view
		} else {
			documents[i].Key = k
		}
		views, size = append(views, view), size+len(view)
	}
	if parts == store.WithViews {
		memory := make([]byte, 0, size) // one piece for all
		for i, view := range views {
			if view != nil {
				from := len(memory)
				memory = append(memory, view...)
				documents[i].View = memory[from:len(memory):len(memory)]
			}
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
	var few [64][]*operation
	found, f := few[:0], finder{s: s} // what goes into each page
	count, size := 0, int64(0)
	for _, r := range ranges {
		_, d := f.findLocked(r.Key)
		to := d.head()
		if r.To > 0 {
			to = min(to, r.To)
		}
		all := d.between(r.From, to)
		fit, full := 0, false // the first that does not fit
		for ; fit < len(all); fit++ {
			more := int64(len(all[fit].Body) + len(all[fit].Meta))
			full = budget.Operations > 0 && count >= budget.Operations || budget.Bytes > 0 && size+more > budget.Bytes
			if full = full && count > 0; full {
				break
			}
			size += more
			count++
		}
		found = append(found, all[:fit])
		if full {
			break
		}
	}
	copyOperations(pages, found, count, size)
	return pages, nil
}

// copyOperations fills pages with copies for the caller to keep. All operations, and all
// bodies and metas, of which these are the numbers, are in one piece of memory each.
func copyOperations(pages [][]store.Operation, found [][]*operation, count int, bytes int64) {
	copied, memory := make([]store.Operation, 0, count), make([]byte, 0, bytes)
	piece := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		from := len(memory)
		memory = append(memory, b...)
		return memory[from:len(memory):len(memory)]
	}
	for i, of := range found {
		if len(of) == 0 {
			continue
		}
		first := len(copied)
		for _, op := range of {
			copied = append(copied, op.Operation)
			op := &copied[len(copied)-1]
			op.Meta, op.Body = piece(op.Meta), piece(op.Body)
		}
		pages[i] = copied[first:len(copied):len(copied)]
	}
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
