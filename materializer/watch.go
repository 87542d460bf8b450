package materializer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/refold-go/refold/dispatcher"
	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

// OverlookedError names documents that are dirty and that nobody works on. They
// were seen so twice, and were signalled then. It is an [ErrOverlooked].
type OverlookedError struct {
	Documents []Key
}

func (e *OverlookedError) Error() string {
	return fmt.Sprintf("%v: %v", ErrOverlooked, e.Documents)
}

// Is reports whether target is [ErrOverlooked].
func (e *OverlookedError) Is(target error) bool { return target == ErrOverlooked }

// watch remembers which runnable documents were seen with nobody working on
// them. None is known to stay so; this is for the fault that is not known.
type watch struct {
	mu   sync.Mutex // guards the following field; never held while blocked
	seen map[store.Key]sighting
}

type sighting struct {
	at    time.Time
	since store.Position
}

const (
	// overlookedAfter is how long a document must have been seen so: announcements
	// are on their way for less, also those of other processes.
	overlookedAfter = 2 * time.Second
	// mostWatched bounds what is remembered from one look to the next.
	mostWatched = 1024
)

// sweep looks at the store without a reason now and then, and repairs what was
// overlooked. It calls also each time.
func (m *Materializer) sweep(ctx context.Context, also func()) error {
	timer := time.NewTimer(dispatcher.SweepEvery)
	defer timer.Stop()
	for {
		for _, wait := range []time.Duration{dispatcher.SweepEvery - overlookedAfter, overlookedAfter} {
			timer.Reset(wait)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			yield.At(ctx, "woken to sweep")
			if ctx.Err() != nil {
				return nil
			}
			if _, err := m.lookAround(ctx); err != nil && ctx.Err() == nil {
				m.cfg.Logger.Warn().Err(err).Msg("cannot look for documents that were overlooked")
			}
		}
		if err := m.refresh(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn().Err(err).Msg("cannot read the collections")
		}
		m.table.Reread()
		m.table.Trim()
		m.lookAside()
		m.lookAfter()
		also()
	}
}

// lookAround looks at all runnable documents, and signals those that it saw
// before with nobody working on them, and still does.
func (m *Materializer) lookAround(ctx context.Context) (overlooked []Key, err error) {
	if !m.running.Load() || !m.table.Complete() {
		return nil, nil // those without an entry wait for room, or for the feed
	}
	now := time.Now()
	seen := make(map[store.Key]sighting)
	m.watch.mu.Lock()
	before := m.watch.seen
	m.watch.mu.Unlock()
	for row, err := range m.st.Runnable(ctx, m.served()) {
		if err != nil {
			return nil, err
		}
		if row.Wait > 0 || m.suspect(row.Key, row.Since, row.Lease) || m.sharing.elsewhere(row.Lease) || m.inTable(row.Key) || len(seen) == mostWatched {
			continue
		}
		s := sighting{now, row.Since.Position}
		if b, ok := before[row.Key]; ok && b.since == s.since {
			s.at = b.at
		}
		seen[row.Key] = s
		if now.Sub(s.at) >= overlookedAfter && m.stillDirty(ctx, row) {
			overlooked = append(overlooked, row.Key)
		}
	}
	m.watch.mu.Lock()
	m.watch.seen = seen
	m.watch.mu.Unlock()
	if !m.table.Complete() {
		return nil, nil // it was not all through the look
	}
	for i, key := range overlooked {
		m.counts.overlooked.Add(1)
		m.cfg.Logger.Warn().Str("collection", m.bare(key).Collection).Str("document", key.ID).
			Msg("a document was dirty and nobody worked on it: it is queued now")
		m.table.Signal(key)
		overlooked[i] = m.shown(key)
	}
	return overlooked, nil
}

// inTable reports whether the table has a document, or the pool beside it does.
func (m *Materializer) inTable(key store.Key) bool {
	s := m.table.State(key)
	return s != dispatcher.Idle && s != dispatcher.Cooling || m.beside.Load().has(key)
}

// stillDirty reports whether a row is as it was read and still nobody's: a run
// that stored its view and gave it back in between is no fault.
func (m *Materializer) stillDirty(ctx context.Context, row store.Runnable) bool {
	docs, err := m.st.Load(ctx, []store.Key{row.Key}, store.WithoutViews)
	return err == nil && !docs[0].Parked() && docs[0].Since.Position == row.Since.Position && !m.inTable(row.Key)
}
