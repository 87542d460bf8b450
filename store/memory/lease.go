package memory

import (
	"context"
	"time"

	"github.com/refold-go/refold/store"
)

// lease is that of a document; the zero value is none.
type lease struct {
	holder       string
	taken, until time.Time
}

func (l lease) at(now time.Time) store.Lease { return store.LeaseOf(l.holder, l.taken, l.until, now) }

// lengthen lets it last for as long as the terms say, from now on.
func (l *lease) lengthen(terms store.LeaseTerms, now time.Time) {
	l.until = now.Add(terms.For)
	if most := l.taken.Add(terms.Most); most.Before(l.until) {
		l.until = most
	}
}

// Lease implements [store.Leaser].
func (s *Store) Lease(ctx context.Context, holder string, terms store.LeaseTerms, keys []store.Key, over bool) ([]store.Leased, error) {
	if err := store.CheckLease(holder, terms, keys); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	answers := make([]store.Leased, len(keys))
	epoch := int64(0)
	for i, k := range keys {
		c, g := s.generationLocked(k.Collection)
		var d *document
		if g != nil && !c.heldBackLocked(g, now) {
			d = g.documents[k.ID]
		}
		if d == nil || !d.dirty() || d.parked() {
			answers[i].Why = store.NotRunnable
			continue
		}
		answers[i] = store.Leasable(d.lease.at(now), store.WaitLeft(d.notBefore, now), holder, over)
		if answers[i].Why != store.Taken {
			continue
		}
		if epoch == 0 {
			s.changes++
			epoch = s.changes
		}
		answers[i].Epoch, d.epoch = epoch, epoch
		d.lease = lease{holder: holder, taken: now}
		d.lease.lengthen(terms, now)
	}
	return answers, nil
}

// Lengthen implements [store.Leaser].
func (s *Store) Lengthen(ctx context.Context, holder string, terms store.LeaseTerms, held []store.Held) ([]bool, error) {
	if err := store.CheckHeld(holder, &terms, held); err != nil {
		return nil, err
	}
	return s.ofHolder(ctx, holder, held, func(l *lease) { l.lengthen(terms, time.Now()) })
}

// Release implements [store.Leaser].
func (s *Store) Release(ctx context.Context, holder string, held []store.Held) ([]bool, error) {
	if err := store.CheckHeld(holder, nil, held); err != nil {
		return nil, err
	}
	return s.ofHolder(ctx, holder, held, func(l *lease) { *l = lease{} })
}

// ofHolder changes those leases that the holder has, and reports which.
func (s *Store) ofHolder(ctx context.Context, holder string, held []store.Held, change func(*lease)) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writableLocked(ctx); err != nil {
		return nil, err
	}
	had := make([]bool, len(held))
	for i, h := range held {
		_, d := s.namedLocked(h.Key)
		if had[i] = d != nil && d.lease.holder == holder && d.epoch == h.Epoch; had[i] {
			change(&d.lease)
		}
	}
	return had, nil
}

// settleLease gives the lease up, or keeps it, after a commit.
func (d *document) settleLease(keep *store.LeaseTerms, now time.Time) {
	if keep == nil || d.lease.holder == "" || !d.dirty() || d.parked() {
		d.lease = lease{}
		return
	}
	d.lease.lengthen(*keep, now)
}
