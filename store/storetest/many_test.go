package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/refold-go/refold/store"
	"github.com/refold-go/refold/store/memory"
	"github.com/refold-go/refold/store/position"
	"github.com/refold-go/refold/store/storetest"
)

// TestWriters runs the sections for stores with many writers, on handles that
// share a store in memory and a tracker.
func TestWriters(t *testing.T) {
	storetest.Run(t, func(testing.TB) store.Backend { return newCluster("").open() }, manyOptions)
}

var manyOptions = &storetest.Options{
	Reopen: func(t testing.TB, b store.Backend) store.Backend {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		return b.(*many).cluster.open()
	},
	Second: func(_ testing.TB, b store.Backend) store.Backend { return b.(*many).cluster.open() },
	Stall: func(_ testing.TB, b store.Backend) (<-chan struct{}, func()) {
		s := &stall{reached: make(chan struct{}), free: make(chan struct{})}
		b.(*many).stall.Store(s)
		return s.reached, func() { close(s.free) }
	},
}

// cluster is what the handles of one store with many writers share. The documents
// are in a store in memory, whose positions are in order of commit; placed has for
// each of them where the operation is in the log of the cluster.
type cluster struct {
	shared  *shared
	of      store.Incarnation
	tracker *position.Tracker
	fault   string // what it does wrong

	// mu guards the following fields. It is held from committing to finishing.
	mu      sync.Mutex
	counter position.Stored
	placed  []position.Position
	writers map[position.Number]position.Writer // of placed
	fenced  map[position.Writer]position.Epoch  // the last one that is over
	holds   map[store.Key]*hold
}

// hold is a lock on the documents of one append.
type hold struct {
	by   *many
	free chan struct{} // closed when it is given back, or broken by a fence
}

type stall struct{ reached, free chan struct{} }

// many is a handle, which is a writer.
type many struct {
	*handle
	cluster *cluster
	member  *position.Member
	stall   atomic.Pointer[stall]
}

var _ store.Writers = (*many)(nil)

func newCluster(fault string) *cluster {
	c := &cluster{
		shared:  &shared{Store: memory.New(nil)},
		fault:   fault,
		writers: make(map[position.Number]position.Writer),
		fenced:  make(map[position.Writer]position.Epoch),
		holds:   make(map[store.Key]*hold),
	}
	c.of = 4711 + store.Incarnation(clusters.Add(1))
	c.tracker = position.NewTracker(position.Options{Allocate: c.draw})
	return c
}

var clusters atomic.Uint64

// draw is the counter.
func (c *cluster) draw(_ context.Context, n int, _ position.Stored) ([]position.Stored, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	drawn := make([]position.Stored, n)
	for i := range drawn {
		c.counter++
		drawn[i] = c.counter
	}
	return drawn, nil
}

// open gives the new handle a writer that is not alive, or a new one.
func (c *cluster) open() *many {
	w, epoch := position.Writer(1), position.Epoch(1)
	for _, s := range c.tracker.Standings() {
		if s.State != position.Live {
			w, epoch = s.Writer, s.Epoch+1
			break
		}
		w = s.Writer + 1
	}
	member, err := c.tracker.Join(w, epoch)
	if err != nil {
		panic(err) // no two are opened at once
	}
	return &many{handle: &handle{shared: c.shared}, cluster: c, member: member}
}

func (h *many) Close() error {
	if err := h.handle.Close(); err != nil {
		return err
	}
	if err := h.member.Leave(); err != nil && !errors.Is(err, position.ErrFenced) {
		return err
	}
	return nil
}

func (h *many) Writer() (store.Writer, position.Epoch) {
	if h.cluster.fault == "one epoch" {
		return h.member.Writer(), 1
	}
	return h.member.Writer(), h.member.Epoch()
}

func (h *many) Standings(context.Context) ([]position.Standing, error) {
	return with(h.handle, func() ([]position.Standing, error) { return h.cluster.tracker.Standings(), nil })
}

func (h *many) Fence(ctx context.Context, w store.Writer, epoch position.Epoch) ([]position.Hole, error) {
	return with(h.handle, func() ([]position.Hole, error) {
		if err := context.Cause(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrBusy, err)
		}
		return h.cluster.fence(w, epoch)
	})
}

func (c *cluster) fence(w store.Writer, epoch position.Epoch) ([]position.Hole, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	holes, err := c.tracker.Fence(w, epoch, position.Number(c.counter))
	if errors.Is(err, position.ErrUnknown) {
		return nil, fmt.Errorf("%w: writer %d", store.ErrNotFound, w)
	} else if err != nil {
		return nil, err
	}
	if c.fault != "fence is a word" {
		c.fenced[w] = epoch
	}
	if c.fault != "fence keeps locks" {
		for k, h := range c.holds {
			if h.by.member.Writer() == w {
				c.freeLocked(h, k)
			}
		}
	}
	return holes, nil
}

// hold locks the documents of an append, all at once.
func (c *cluster) hold(ctx context.Context, by *many, appends []store.Append) (*hold, error) {
	mine := &hold{by: by, free: make(chan struct{})}
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrBusy, err)
		}
		busy := c.tryHold(mine, appends)
		if busy == nil {
			return mine, nil
		}
		select {
		case <-busy.free:
		case <-ctx.Done():
		}
	}
}

// tryHold returns who has one of the documents.
func (c *cluster) tryHold(mine *hold, appends []store.Append) *hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range appends {
		if other := c.holds[a.Key]; other != nil && c.fault != "no locks" {
			return other
		}
	}
	for _, a := range appends {
		c.holds[a.Key] = mine
	}
	return nil
}

func (c *cluster) release(h *hold, appends []store.Append) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range appends {
		c.freeLocked(h, a.Key)
	}
}

func (c *cluster) freeLocked(h *hold, k store.Key) {
	if c.holds[k] == h {
		delete(c.holds, k)
		select {
		case <-h.free:
		default:
			close(h.free)
		}
	}
}
