package materializer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
)

const (
	defaultLease = 10 * time.Second
	leastLease   = time.Second
	// mostLeases is how many times as long as a lease one lasts that is lengthened
	// again and again.
	mostLeases = 6
	// lookSoon and lookLate are the bounds of how soon a document is looked at again
	// that another process has.
	lookSoon = 10 * time.Millisecond
	lookLate = time.Second
)

// sharing is what is known of the others that work on the store.
type sharing struct {
	// name is that under which the pool of this Run leases documents; nil if Run does
	// not work, or does not share the store.
	name atomic.Pointer[string]
}

// holder returns the name, or nothing.
func (s *sharing) holder() string {
	if name := s.name.Load(); name != nil {
		return *name
	}
	return ""
}

// elsewhere reports whether another holder than the pool of this process works on a
// document.
func (s *sharing) elsewhere(l store.Lease) bool {
	return l.Left > 0 && s.holder() != "" && l.Holder != s.holder()
}

// lookAgain is how soon a document is looked at again that somebody else has: after
// as long as that one has had it, so that it doubles each time.
func lookAgain(l store.Lease) time.Duration {
	return max(min(l.Age, l.Left, lookLate), lookSoon)
}

// join takes the store, alone or beside others.
func (m *Materializer) join(ctx context.Context) (store.Claim, error) {
	if !m.cfg.Shared {
		return m.st.Claim(ctx)
	}
	claim, err := m.st.Share(ctx)
	if err == nil {
		m.sharing.name.Store(&claim.Holder)
	}
	return claim, err
}

// terms are those of the leases.
func (c *Config) terms() store.LeaseTerms {
	return store.LeaseTerms{For: c.Lease, Most: min(mostLeases*c.Lease, store.MaxLease)}
}

// breathe waits between two readings if others write all the time, as long as there is
// enough to do: reading a row that is queued already takes some microseconds.
func (m *Materializer) breathe(ctx context.Context) {
	if queued := m.table.Counts().Queued; queued > 0 {
		timer := time.NewTimer(min(time.Duration(queued)*20*time.Microsecond, lookLate))
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	yield.At(ctx, "waited to read")
}
