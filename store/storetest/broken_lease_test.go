package storetest_test

import (
	"context"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// freeLease gives documents to everyone: it takes for its own what others have.
type freeLease struct{ *memory.Store }

func (s freeLease) Lease(ctx context.Context, holder string, terms store.LeaseTerms, keys []store.Key, over bool) ([]store.Leased, error) {
	documents, err := s.Load(ctx, keys, store.WithoutViews)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		if d.Lease.Holder != "" {
			_, _ = s.Store.Release(ctx, d.Lease.Holder, []store.Held{{Key: d.Key, Epoch: d.Epoch}})
		}
	}
	return s.Store.Lease(ctx, holder, terms, keys, over)
}

// anyRelease gives back what a holder had once.
type anyRelease struct{ *memory.Store }

func (s anyRelease) Release(ctx context.Context, holder string, held []store.Held) ([]bool, error) {
	had, err := s.Store.Release(ctx, holder, held)
	for _, h := range held {
		if d, err := s.Load(ctx, []store.Key{h.Key}, store.WithoutViews); err == nil && d[0].Lease.Holder != "" {
			_, _ = s.Store.Release(ctx, d[0].Lease.Holder, []store.Held{{Key: h.Key, Epoch: d[0].Epoch}})
		}
	}
	return had, err
}

// keptLease keeps the lease whatever the commit says.
type keptLease struct{ *memory.Store }

func (s keptLease) Commit(ctx context.Context, commits []store.Commit) ([]store.Outcome, error) {
	kept := make([]store.Commit, len(commits))
	for i, c := range commits {
		c.Keep = &store.LeaseTerms{For: store.MaxLease, Most: store.MaxLease}
		kept[i] = c
	}
	return s.Store.Commit(ctx, kept)
}
