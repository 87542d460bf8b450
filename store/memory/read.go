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
		for seq := max(r.From, 1); seq <= to; seq++ {
			op := d.operations[seq-1].Operation
			size += int64(len(op.Body) + len(op.Meta))
			full := budget.Operations > 0 && count >= budget.Operations || budget.Bytes > 0 && size > budget.Bytes
			if full && count > 0 {
				return pages, nil
			}
			op.Entry = cloneEntry(op.Entry)
			pages[i] = append(pages[i], op)
			count++
		}
	}
	return pages, nil
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
