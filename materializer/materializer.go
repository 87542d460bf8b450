package materializer

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/bus"
	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/store"
)

// Materializer is what an application holds: the way to append operations and
// to read views, and the pool of workers that makes these from those. All
// methods may be called at once from any number of goroutines, and all but Run
// work in a process that never calls it.
type Materializer struct {
	st       store.Backend
	cfg      Config
	table    *dispatcher.Table
	appended bus.Bus[store.Key] // documents that may be dirty
	waits    waits
	ill      ill
	counts   counters
	last     lastRuns
	suspects suspects
	sharing  sharing
	watch    watch
	mapped   mappedViews
	progress progress
	step     atomic.Int32 // of effort; the keeper writes it
	// beside has what the pool beside the table's has in hand; nil until Run works.
	beside atomic.Pointer[aside]
	// wake receives when there may be something to do about generations, and asidePoke
	// when there may be documents to run of those that are not served.
	wake, asidePoke chan struct{}
	// refreshing is held while what is known of collections is made equal to the store.
	refreshing sync.Mutex
	// registry is replaced under mu.
	registry atomic.Pointer[registry]

	// running is set while Run works, so that who waits for a view knows whether
	// this process makes it.
	running atomic.Bool
	// ended is closed when Run has returned; endCause is written before.
	ended    chan struct{}
	endCause error

	// mu guards the following fields.
	mu      sync.Mutex
	started bool
}

// New makes a materializer over a store. The store stays the caller's, who
// closes it when Run has returned. Errors: [ErrInvalid] for a config that makes
// no sense.
func New(st store.Backend, cfg Config) (*Materializer, error) {
	if st == nil {
		return nil, &InvalidError{Field: "store", Got: "nil", Want: "a store"}
	}
	for _, c := range []struct {
		field string
		value int64
	}{
		{"Config.Workers", int64(cfg.Workers)},
		{"Config.Queue", int64(cfg.Queue)},
		{"Config.Batch", int64(cfg.Batch)},
		{"Config.Bytes", cfg.Bytes},
		{"Config.Announcements", int64(cfg.Announcements)},
	} {
		if c.value < 0 {
			return nil, &InvalidError{Field: c.field, Got: fmt.Sprint(c.value), Want: "0 or more"}
		}
	}
	if cfg.Lease == 0 {
		cfg.Lease = defaultLease
	}
	if cfg.Lease < leastLease || cfg.Lease > store.MaxLease {
		return nil, &InvalidError{Field: "Config.Lease", Got: cfg.Lease.String(), Want: fmt.Sprintf("%v to %v", leastLease, store.MaxLease)}
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if !(cfg.BuildShare >= 0 && cfg.BuildShare <= 1) {
		return nil, &InvalidError{Field: "Config.BuildShare", Got: fmt.Sprint(cfg.BuildShare), Want: "0 to 1"}
	}
	if cfg.BuildShare == 0 {
		cfg.BuildShare = 0.5
	}
	if cfg.ViewDelay < 0 || cfg.ViewDelay > longestViewDelay {
		return nil, &InvalidError{Field: "Config.ViewDelay", Got: cfg.ViewDelay.String(), Want: fmt.Sprintf("0 to %v", longestViewDelay)}
	}
	if cfg.Shared {
		cfg.ViewDelay = min(cfg.ViewDelay, cfg.Lease/4)
	}
	if cfg.Batch == 0 {
		cfg.Batch = defaultBatch
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = defaultBytes
	}
	if cfg.Announcements == 0 {
		cfg.Announcements = defaultAnnouncements
	}
	m := &Materializer{
		st:        st,
		cfg:       cfg,
		table:     dispatcher.NewTable(cfg.Queue, cfg.Workers),
		ended:     make(chan struct{}),
		wake:      make(chan struct{}, 1),
		asidePoke: make(chan struct{}, 1),
		suspects:  suspects{poke: make(chan struct{}, 1)},
	}
	m.registry.Store(&registry{own: make(map[string]*collection), named: make(map[string][]*collection)})
	m.table.SampleWaits(func(d time.Duration) { m.counts.wait.observe(int64(d)) })
	return m, nil
}

// Unregistered returns the collections that are in the store and that nobody has
// registered here. Their operations are kept, nobody folds them, and they hold
// up nobody.
func (m *Materializer) Unregistered(ctx context.Context) ([]store.Collection, error) {
	all, err := m.st.Collections(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(c store.Collection) bool { return m.registered(c.Name) }), nil
}

// add registers a collection.
func (m *Materializer) add(c *collection) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.addableLocked(c.name, c.version); err != nil {
		return err
	}
	m.registry.Store(m.registry.Load().with(c))
	return nil
}

// addable returns why a version of a collection cannot be added, if so.
func (m *Materializer) addable(name string, version int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addableLocked(name, version)
}

func (m *Materializer) addableLocked(name string, version int) error {
	if m.started {
		return fmt.Errorf("%w: register %s before Run", ErrStarted, name)
	}
	for _, c := range m.registry.Load().named[name] {
		if c.version == version {
			return &InvalidError{Field: "collection", Got: fmt.Sprintf("%s at version %d twice", name, version), Want: "each version once"}
		}
	}
	return nil
}
