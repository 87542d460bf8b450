package memory

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/refold-go/refold/store"
)

// Forget implements [store.Eraser].
func (s *Store) Forget(ctx context.Context, key store.Key) error {
	if err := store.CheckKey(key); err != nil {
		return err
	}
	dirty, err := s.forget(ctx, key)
	s.listeners.Dirty(dirty)
	return err
}

func (s *Store) forget(ctx context.Context, key store.Key) (dirty []store.Key, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return nil, err
	}
	if err := s.notDerivedLocked("document to forget", key); err != nil {
		return nil, err
	}
	s.forgotten[s.hash(key)] = struct{}{}
	c := s.collections[key.Collection]
	if c == nil {
		return nil, nil
	}
	for _, m := range c.dependents {
		dirty = append(dirty, s.withdrawLocked(m, key.ID)...)
	}
	if d := c.documents[key.ID]; d != nil {
		for _, g := range c.living() {
			g.removeLocked(key.ID)
		}
		c.contents[d.index] = nil
		s.log.remove(d.operations)
	}
	return dirty, nil
}

// Forgotten implements [store.Eraser].
func (s *Store) Forgotten(ctx context.Context, key store.Key) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return false, err
	}
	return s.forgottenLocked(key), nil
}

func (s *Store) forgottenLocked(key store.Key) bool {
	if len(s.forgotten) == 0 {
		return false
	}
	_, yes := s.forgotten[s.hash(key)]
	return yes
}

// hash is what is kept of a key that was forgotten.
func (s *Store) hash(key store.Key) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d %s/%s", s.incarnation, key.Collection, key.ID))
}

// Drop implements [store.Eraser].
func (s *Store) Drop(ctx context.Context, collection string) error {
	if err := store.CheckBare(collection); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return err
	}
	if c := s.collections[collection]; c != nil {
		if len(c.dependents) > 0 {
			return &store.InvalidError{
				Field: "collection to drop", Got: collection + ", of which " + c.dependents[0].of() + " is made", Want: "one that nothing is made of",
			}
		}
		for _, gone := range c.contents {
			if gone != nil {
				s.log.remove(gone.operations)
			}
		}
		delete(s.collections, collection)
		s.changes++
		s.dropped = s.changes
		s.relinkLocked()
	}
	return nil
}
