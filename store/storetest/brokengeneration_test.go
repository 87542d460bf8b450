package storetest_test

import (
	"context"
	"strings"
	"time"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
)

// alwaysForce switches over parked documents that are behind.
type alwaysForce struct{ *memory.Store }

func (s alwaysForce) Switch(ctx context.Context, generation string, terms store.SwitchTerms) (store.Obstacle, error) {
	terms.Force = true
	return s.Store.Switch(ctx, generation, terms)
}

// noHold holds nothing.
type noHold struct{ *memory.Store }

func (s noHold) Hold(ctx context.Context, collection string, mine time.Time, _ time.Duration) (time.Time, error) {
	return s.Store.Hold(ctx, collection, mine, 0)
}

// anyHold lets everybody end what somebody holds.
type anyHold struct {
	*memory.Store
	last *time.Time
}

func (s anyHold) Hold(ctx context.Context, collection string, _ time.Time, d time.Duration) (until time.Time, err error) {
	*s.last, err = s.Store.Hold(ctx, collection, *s.last, d)
	return *s.last, err
}

// keepsAll retires nothing.
type keepsAll struct{ *memory.Store }

func (keepsAll) Retire(context.Context, string) error { return nil }

// lateFill stops before the last rows.
type lateFill struct{ *memory.Store }

func (s lateFill) Fill(ctx context.Context, generation string) (bool, error) {
	more, err := s.Store.Fill(ctx, generation)
	return more && err != nil, err
}

// keepsNothing retires what a switch keeps.
type keepsNothing struct{ *memory.Store }

func (s keepsNothing) Switch(ctx context.Context, generation string, terms store.SwitchTerms) (store.Obstacle, error) {
	o, err := s.Store.Switch(ctx, generation, terms)
	if err == nil && o.Why == store.Unhindered {
		collection, _, _ := strings.Cut(generation, "@")
		all, _ := s.Generations(ctx, collection)
		for _, g := range all {
			if g.State == store.Kept {
				_ = s.Retire(ctx, store.CollectionName{Name: collection, Version: g.Version}.String())
			}
		}
	}
	return o, err
}
