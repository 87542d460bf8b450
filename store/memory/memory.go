// Package memory is the reference backend of Refold: all of the contract of
// package store, and nothing of it durable.
//
// It is for tests, and for applications that can lose everything when they end.
// It starts no goroutines and waits for nobody, so it can be used inside of a
// bubble of testing/synctest, where its clock is the fake one.
package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/refold-go/refold/store"
)

// Options are the settings of a store. The zero value works.
type Options struct {
	// MaxBody is the most bytes that the body of an operation may have. 0, and
	// more than [store.MaxBody], mean [store.MaxBody].
	MaxBody int
}

// Store is a [store.Backend] in memory. Its documents live as long as it does.
type Store struct {
	maxBody     int
	incarnation store.Incarnation
	listeners   store.Listeners

	// mu guards the following fields and all that they lead to. It is never held
	// while a caller has an element of a stream.
	mu          sync.Mutex
	closed      bool
	claims      claims
	end         store.Position
	changes     int64 // the number of the last change: of a view, or of an epoch
	log         log
	collections map[string]*collection
	// forgotten has the hash of each key that is refused for ever.
	forgotten map[[sha256.Size]byte]struct{}
	// dropped is the number of the change at which a collection was last dropped.
	dropped int64
}

var (
	_ store.Backend        = (*Store)(nil)
	_ store.DerivedChecker = (*Store)(nil)
	_ store.Resident       = (*Store)(nil)
)

type collection struct {
	// generation is the one that is served. Those beside it are nil if there is none;
	// a kept one may be set aside.
	*generation
	building, kept *generation

	paused bool
	// heldUntil is until when the generation that is served is not run.
	heldUntil time.Time
	// switched is the number of the last switch; 0 if there was none.
	switched int64
	// contents are the documents in the order in which they were made; nil for one that
	// was forgotten. Those of a derived collection are with its generations.
	contents []*content
	// derived tells that it is made from others.
	derived bool
	// dependents are the mappings that read it, of all generations that live.
	dependents []*mapping
}

// generation is what the fold of one version made of the documents of a collection.
type generation struct {
	version int
	state   store.GenerationState
	// epoch is that of new documents. It is greater than all that the documents of an
	// earlier collection of the name had.
	epoch int64
	// filled is how many of the collection's contents Fill has looked at, of toFill,
	// and made how many documents it has made.
	filled, toFill, made int
	started, until       time.Time
	// derived is nil unless it is a generation of a derived collection, or a mapping.
	derived *derivation

	documents map[string]*document
	// ids has every element of documents, in order of id.
	ids ordered[text, *document]
	// runnable has exactly the documents that are dirty and not parked, in order
	// of since, and then of id.
	runnable ordered[place, *document]
	// parked has exactly the parked documents, in order of id.
	parked ordered[text, *document]
	// changed has exactly the documents that ever changed or parked, in order of the
	// last time.
	changed ordered[number, *document]
}

// New returns an empty store. nil means the zero [Options].
func New(o *Options) *Store {
	s := &Store{
		maxBody:     store.MaxBody,
		collections: make(map[string]*collection),
		forgotten:   make(map[[sha256.Size]byte]struct{}),
	}
	if o != nil && o.MaxBody > 0 {
		s.maxBody = min(o.MaxBody, store.MaxBody)
	}
	for s.incarnation == 0 {
		s.incarnation = store.Incarnation(rand.Uint64()) // #nosec G404 -- it tells stores apart, and is no secret
	}
	return s
}

// Close waits for the calls in hand and ends the store; its content is gone.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.collections, s.log = nil, log{}
	s.mu.Unlock()
	if first {
		s.listeners.Closed()
	}
	return nil
}

// Resident implements [store.Resident].
func (s *Store) Resident() {}

// Listen implements [store.Announcer].
func (s *Store) Listen(l store.Listener) (stop func()) { return s.listeners.Listen(l) }

// Register implements [store.Registrar].
func (s *Store) Register(ctx context.Context, name string, version int) error {
	if err := store.CheckCollection(name); err != nil {
		return err
	}
	if err := store.CheckVersion(version); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return err
	}
	if err := s.notDerivedLocked("collection to register", store.Key{Collection: name}); err != nil {
		return err
	}
	return s.registerLocked(name, version)
}

// Collections implements [store.Registrar].
func (s *Store) Collections(ctx context.Context) ([]store.Collection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readableLocked(ctx); err != nil {
		return nil, err
	}
	all, now := make([]store.Collection, 0, len(s.collections)), time.Now()
	for _, name := range slices.Sorted(maps.Keys(s.collections)) {
		c := s.collections[name]
		all = append(all, store.Collection{Name: name, Version: c.version, Paused: c.paused, Held: c.held(now), Derived: c.derived, Sources: c.sources()})
	}
	return all, nil
}

// Pause implements [store.Pauser].
func (s *Store) Pause(ctx context.Context, name string, paused bool) error {
	if err := store.CheckBare(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return err
	}
	c := s.collections[name]
	if c == nil {
		return fmt.Errorf("%w: collection %q", store.ErrNotFound, name)
	}
	c.paused = paused
	return nil
}

// readableLocked returns why a call can't be served, if so.
func (s *Store) readableLocked(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	return context.Cause(ctx)
}

// writableLocked is readableLocked for calls that change something.
func (s *Store) writableLocked(ctx context.Context) error {
	if s.closed {
		return store.ErrClosed
	}
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("%w: %w", store.ErrBusy, cause)
	}
	return nil
}

// collectionLocked returns a collection, and makes it if need be.
func (s *Store) collectionLocked(name string) *collection {
	c := s.collections[name]
	if c == nil {
		c = &collection{generation: newGeneration(0, store.Serving, s.dropped)}
		s.collections[name] = c
	}
	return c
}

// documentLocked returns a document of what is served, or nil if it has no
// operations.
func (s *Store) documentLocked(k store.Key) *document {
	if c := s.collections[k.Collection]; c != nil {
		return c.documents[k.ID]
	}
	return nil
}
