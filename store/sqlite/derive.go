package sqlite

import (
	"context"
	"errors"

	"github.com/refold-go/refold/store"
)

var errNotYet = errors.New("refold: derived collections are not built yet")

// Derive implements [store.Deriver].
func (s *Store) Derive(context.Context, store.Derivation) error { return errNotYet }

// Contributions implements [store.Deriver].
func (s *Store) Contributions(context.Context, store.Key, store.Contributor, store.Budget) ([]store.Contribution, error) {
	return nil, errNotYet
}

// Reads implements [store.Deriver].
func (s *Store) Reads(context.Context, store.Key) ([]store.Read, error) { return nil, errNotYet }
