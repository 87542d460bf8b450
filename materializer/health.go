package materializer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// Health is how things stand.
type Health struct {
	// Running tells whether this process's Run works.
	Running bool
	// Oldest is the document, of a registered collection and neither parked nor
	// paused, that lacks the oldest operation; a zero Key if nothing is lacking.
	// Position and Since are where and when that operation was appended, Age is how
	// long ago. Everything before is in its view, but for parked, paused and
	// unregistered documents.
	Oldest   Key
	Position store.Position
	Since    time.Time
	Age      time.Duration
	// Dirty, Waiting, Parked, Paused and Unregistered count documents: the dirty
	// ones of registered collections that go on, those of them that wait after a
	// failure, the parked ones, the dirty ones of paused and those of unregistered
	// collections.
	Dirty, Waiting, Parked, Paused, Unregistered int64
	// Building is how many documents are dirty in generations that are not served, and
	// whose folds are registered here: those being built, and those that are kept. They are
	// not among Dirty.
	Building int64
	// Suspects is how many documents are left that were dirty when the last process
	// ended without a word, or that others who share the store have left behind.
	Suspects int64
	// Shared tells whether the store is shared, Leased how many dirty documents others
	// work on.
	Shared bool
	Leased int64
	// Stats has what is queued, running and so on, and the counters.
	Stats Stats
	// Collections has the counts of each collection in the store, in order of name.
	Collections []CollectionHealth
}

// CollectionHealth is how one collection stands.
type CollectionHealth struct {
	Name string
	// Derived tells that it is made from others. What its sources have still to tell it, one row
	// for each of their documents that does, counts among its dirty documents and is
	// counted like them; a Key of such a row has a collection like authors<files.
	Derived bool
	// Version is that of the fold whose views are served, 0 if nobody has registered it.
	Version int
	// Registered tells whether it is registered here, Served whether the fold of what is
	// served is: if not, another process has to make its views. Paused tells whether it is
	// held back.
	Registered, Served, Paused bool
	// Generations are all of the collection; nil if it has only the one that is served.
	Generations []Generation
	// Dirty are the dirty documents that are not parked, Waiting those of them that
	// wait after a failure, Parked the parked ones.
	Dirty, Waiting, Parked int64
	// Oldest is the dirty document, not parked, that lacks the oldest operation, and
	// Since is when that was appended; zero if there is none. OldestParked and
	// ParkedSince are the same among the parked ones.
	Oldest       Key
	Since        time.Time
	OldestParked Key
	ParkedSince  time.Time
}

// Health tells how things stand, in time in proportion to the dirty documents.
//
// The error says what is wrong, beside a Health that is valid as far as it could
// be read: [ErrOverlooked] if a document that could run was seen twice, two
// seconds or more apart and by this or the regular look, and nobody was working
// on it (it is signalled then); what the store's own check says, such as a
// write-ahead log that only grows; an error of reading. Being behind, parked,
// paused or unregistered documents are no error: what to make of them is for
// the caller.
func (m *Materializer) Health(ctx context.Context) (Health, error) {
	h := Health{Running: m.running.Load(), Shared: m.cfg.Shared, Stats: m.Stats()}
	var errs []error
	if checker, ok := m.st.(store.Checker); ok {
		errs = append(errs, checker.Check(ctx))
	}
	errs = append(errs, m.countAll(ctx, &h))
	overlooked, err := m.lookAround(ctx)
	errs = append(errs, err)
	if len(overlooked) > 0 {
		errs = append(errs, &OverlookedError{overlooked})
	}
	return h, errors.Join(errs...)
}

func (m *Materializer) countAll(ctx context.Context, h *Health) error {
	stored, err := m.st.Collections(ctx)
	if err != nil {
		return fmt.Errorf("refold: reading the collections: %w", err)
	}
	now := time.Now()
	for _, c := range stored {
		n, err := m.count(ctx, c.Name, m.sourcesOf(&c))
		if err != nil {
			return fmt.Errorf("refold: counting the documents of %s: %w", c.Name, err)
		}
		registered := m.registered(c.Name)
		beside, err := m.Generations(ctx, c.Name)
		if err != nil {
			return fmt.Errorf("refold: reading the generations of %s: %w", c.Name, err)
		}
		if len(beside) < 2 {
			beside = nil
		}
		for i := range beside {
			if g := &beside[i]; g.Registered && g.State != Serving {
				h.Building += g.Dirty
			}
		}
		h.Collections = append(h.Collections, CollectionHealth{
			Name: c.Name, Version: c.Version, Registered: registered, Paused: c.Paused, Derived: c.Derived,
			Served:      m.collection(store.CollectionName{Name: c.Name, Version: max(c.Version, 1)}.String()) != nil,
			Generations: beside,
			Dirty:       n.Dirty, Waiting: n.Waiting, Parked: n.Parked,
			Oldest: n.Oldest.Key, Since: n.Oldest.Since.Time,
			OldestParked: n.OldestParked.Key, ParkedSince: n.OldestParked.Since.Time,
		})
		switch {
		case !registered:
			h.Unregistered += n.Dirty + n.Parked
			continue
		case c.Paused:
			h.Paused += n.Dirty
		default:
			h.Dirty, h.Waiting = h.Dirty+n.Dirty, h.Waiting+n.Waiting
			since := n.Oldest.Since
			if n.Dirty > 0 && (h.Position == 0 || since.Position < h.Position) {
				h.Oldest, h.Position, h.Since = n.Oldest.Key, since.Position, since.Time
				h.Age = max(now.Sub(since.Time), 0)
			}
		}
		h.Parked += n.Parked
	}
	return m.countSuspects(ctx, h)
}

// count counts the documents of a collection, or of a generation of it, and those of the
// mappings that feed it.
func (m *Materializer) count(ctx context.Context, name string, sources []string) (store.Counts, error) {
	all, err := m.st.Count(ctx, name)
	for _, mapping := range mappingsOf(name, sources) {
		if err != nil {
			break
		}
		var n store.Counts
		n, err = m.st.Count(ctx, mapping)
		all.Dirty, all.Waiting, all.Parked = all.Dirty+n.Dirty, all.Waiting+n.Waiting, all.Parked+n.Parked
		all.Oldest, all.OldestParked = older(all.Oldest, n.Oldest), older(all.OldestParked, n.OldestParked)
	}
	return all, err
}

// older returns which of two documents lacks the older operation; either may be none.
func older(a, b store.Runnable) store.Runnable {
	if a.Key.ID == "" || b.Key.ID != "" && b.Since.Position < a.Since.Position {
		return b
	}
	return a
}

// countSuspects reads them: those that were dirty when the last process ended are the
// first of the runnable documents. Leases may be anywhere among them.
func (m *Materializer) countSuspects(ctx context.Context, h *Health) error {
	shared := m.sharing.holder() != ""
	if m.suspects.end.Load() == 0 && !shared {
		return nil
	}
	for row, err := range m.mayBeSuspects(ctx) {
		if err != nil {
			return fmt.Errorf("refold: reading the suspects: %w", err)
		}
		switch {
		case m.suspect(row.Key, row.Since, row.Lease):
			h.Suspects++
		case m.sharing.elsewhere(row.Lease):
			h.Leased++
		}
	}
	return nil
}
