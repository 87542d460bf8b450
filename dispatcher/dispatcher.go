package dispatcher

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/refold-go/refold/bus"
	"github.com/refold-go/refold/internal/yield"
	"github.com/refold-go/refold/store"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// Dispatcher feeds a table. Its fields are read by Run and must not change
// after.
type Dispatcher struct {
	Table *Table
	// Runnable is [store.Store.Runnable] for the collections that are worked on.
	Runnable func(ctx context.Context) iter.Seq2[store.Runnable, error]
	// Bus carries the keys of documents that were appended to.
	Bus *bus.Bus[store.Key]
	// Buffer is how many keys the bus may be ahead; 0 means 4,096. Beyond that
	// they are dropped, and the store is read instead.
	Buffer int
	// Unswept leaves it to its owner to call [Table.Reread] and [Table.Trim] now and
	// then.
	Unswept bool
	Logger  zerolog.Logger
}

const (
	defaultBuffer = 4096
	// SweepEvery is how often the store is looked at without a reason. No hint is
	// known to get lost; this bounds what a lost one would cost.
	SweepEvery = 30 * time.Second
	// retryAfter is how soon a failed reading of the store is tried again.
	retryAfter = time.Second
)

// Run feeds the table until ctx ends, and then returns nil. It subscribes to the
// bus first and reads the store then, so that nothing falls between: what was
// appended before is read, what is appended after is announced. Falling behind
// the bus, and having been full, end in the same reading.
func (d *Dispatcher) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	sub := d.subscribe()
	g.Go(func() error { return d.listen(yield.Start(ctx, "listen", 0), sub) })
	g.Go(func() error { return d.feed(yield.Start(ctx, "feed", 0)) })
	return g.Wait()
}

func (d *Dispatcher) subscribe() *bus.Subscription[store.Key] {
	size := d.Buffer
	if size <= 0 {
		size = defaultBuffer
	}
	sub := d.Bus.Subscribe(size)
	d.Table.Reread()
	return sub
}

// listen signals what the bus announces.
func (d *Dispatcher) listen(ctx context.Context, sub *bus.Subscription[store.Key]) error {
	defer func() { sub.Close() }()
	keys := make([]store.Key, 256)
	for {
		n, err := sub.Receive(ctx, keys)
		switch {
		case err == nil:
			d.Table.SignalAll(keys[:n])
			clear(keys[:n])
		case errors.Is(err, bus.ErrLagged):
			d.Logger.Debug().Msg("fell behind the bus, reading the store again")
			sub.Close()
			sub = d.subscribe()
		default: // ctx ended, or the bus is closed
			return nil
		}
	}
}

// feed reads the store when the table wants it, and wakes delayed documents.
func (d *Dispatcher) feed(ctx context.Context) error {
	timer := time.NewTimer(SweepEvery)
	defer timer.Stop()
	readAt, failed := time.Now().Add(SweepEvery), false
	for {
		now := time.Now()
		if !now.Before(readAt) {
			if failed || !d.Unswept {
				d.Table.Reread()
			}
			if !d.Unswept {
				d.Table.Trim()
			}
			readAt, failed = now.Add(SweepEvery), false
		}
		next := d.Table.Wake(now)
		if d.Table.BeginRead() {
			if err := d.read(ctx); err != nil && ctx.Err() == nil {
				d.Logger.Warn().Err(err).Dur("retry", retryAfter).Msg("cannot read the runnable documents")
				readAt, failed = time.Now().Add(retryAfter), true
			}
			d.Table.EndRead()
		}
		if next.IsZero() || readAt.Before(next) {
			next = readAt
		}
		timer.Reset(time.Until(next))
		select {
		case <-ctx.Done():
		case <-d.Table.Woken():
		case <-timer.C:
		}
		yield.At(ctx, "woken to feed")
		select { // whatever of it was first: all that is due is looked at
		case <-d.Table.Woken():
		default:
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// read signals the runnable documents, from the oldest on, until the table is
// full. One that waits in the table already absorbs its signal. One that is
// running gets the requeue flag: its run may have committed before the operation
// that makes it dirty, and not have been given back yet, so that passing it over
// would leave it idle and dirty.
func (d *Dispatcher) read(ctx context.Context) error {
	for row, err := range d.Runnable(ctx) {
		switch {
		case err != nil:
			return err
		case row.Wait > 0:
			d.Table.Delay(row.Key, time.Now().Add(row.Wait))
		case !d.Table.Signal(row.Key):
			return nil
		}
	}
	return nil
}
