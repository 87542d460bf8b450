package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/refold-go/refold/bench/internal/harness"
)

// enqueue adds jobs with a payload of an operation's size, from so many
// goroutines, so many in a transaction.
func (p peer[Tx]) enqueue(appenders, perTransaction int) func(harness.Env) (harness.Figures, error) {
	return func(env harness.Env) (_ harness.Figures, err error) {
		db, q, err := p.open(placeOf(env))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, db.close()) }()
		body, err := json.Marshal(operation{By: 12345, Note: note})
		if err != nil {
			return nil, err
		}
		payloads := make([]string, perTransaction)
		for i := range payloads {
			payloads[i] = string(body)
		}
		transactions := env.Size.Of(max(p.size.enqueue, 5*perTransaction), 5*perTransaction) / perTransaction
		ctx := context.Background()
		meter, err := harness.StartMeter()
		if err != nil {
			return nil, err
		}
		err = concurrently(transactions, appenders, func(int) error {
			err := db.inTx(ctx, func(tx Tx) error { return q.add(ctx, tx, payloads...) })
			q.added()
			return err
		})
		if err != nil {
			return nil, err
		}
		f, err := figures(meter, transactions*perTransaction)
		if err != nil {
			return nil, err
		}
		return f, wantCount(ctx, db, q.table(), transactions*perTransaction)
	}
}

func wantCount[Tx any](ctx context.Context, db database[Tx], table string, want int) error {
	got, err := db.count(ctx, table)
	if err == nil && got != want {
		err = fmt.Errorf("%d rows in %s, want %d", got, table, want)
	}
	return err
}

// process works on jobs that are there already and do nothing.
func (p peer[Tx]) process(env harness.Env) (_ harness.Figures, err error) {
	db, q, err := p.open(placeOf(env))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	n, ctx := env.Size.Of(p.size.process, 20), context.Background()
	number := make(map[string]int, n)
	for i := range n {
		number[fmt.Sprintf("job-%06d", i)] = i
	}
	err = db.inTx(ctx, func(tx Tx) error {
		for payload := range number {
			if err := q.add(ctx, tx, payload); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	done, left := make([]atomic.Bool, n), atomic.Int64{}
	left.Store(int64(n))
	meter, err := harness.StartMeter()
	if err != nil {
		return nil, err
	}
	stop, err := q.start(func(_ context.Context, payload string) error {
		if i, ok := number[payload]; ok && done[i].CompareAndSwap(false, true) {
			left.Add(-1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := waitFor(func() bool { return left.Load() == 0 }); err != nil {
		return nil, fmt.Errorf("%d of %d jobs did not run: %w", left.Load(), n, err)
	}
	return figures(meter, n)
}

// realJob appends operations, each append with a job in its transaction, while
// the jobs refresh the views.
func (p peer[Tx]) realJob(env harness.Env) (_ harness.Figures, err error) {
	db, q, err := p.open(placeOf(env))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	w, ctx := newWork(env.Size, p.size.job, 1), context.Background()
	seen, runs := make(map[string]*atomic.Int64), atomic.Int64{}
	for _, document := range w.documents {
		seen[document] = new(atomic.Int64)
	}
	meter, err := harness.StartMeter()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	stop, err := q.start(func(ctx context.Context, document string) error {
		v, err := db.refresh(ctx, document)
		if err == nil {
			runs.Add(1)
			raise(seen[document], v.N)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stop != nil {
			err = errors.Join(err, stop())
		}
	}()
	if err := concurrently(len(w.appends), appenders, func(i int) error { return appendWithJob(ctx, db, q, w.appends[i]) }); err != nil {
		return nil, err
	}
	for document, want := range w.want {
		if err := waitFor(func() bool { return seen[document].Load() >= want.N }); err != nil {
			return nil, fmt.Errorf("%s has %d of %d operations: %w", document, seen[document].Load(), want.N, err)
		}
	}
	inViews := time.Since(began)
	if err := waitFor(func() bool { return runs.Load() >= int64(len(w.appends)) }); err != nil {
		return nil, fmt.Errorf("%d of %d jobs ran: %w", runs.Load(), len(w.appends), err)
	}
	f, err := figures(meter, w.operations())
	if err != nil {
		return nil, err
	}
	f["in views/s"] = float64(w.operations()) / inViews.Seconds()
	f["runs/operation"] = float64(runs.Load()) / float64(w.operations())
	err, stop = stop(), nil
	if err != nil {
		return nil, err
	}
	views, err := db.views(ctx)
	if err != nil {
		return nil, err
	}
	return f, w.check(views)
}

// appendWithJob stores a change and a job for its document in one transaction.
func appendWithJob[Tx any](ctx context.Context, db database[Tx], q queue[Tx], c change) error {
	err := db.inTx(ctx, func(tx Tx) error {
		for _, op := range c.operations {
			body, err := json.Marshal(op)
			if err != nil {
				return err
			}
			if err := db.insert(ctx, tx, c.document, body); err != nil {
				return err
			}
		}
		return q.add(ctx, tx, c.document)
	})
	q.added()
	return err
}

// raise makes a number at least v.
func raise(n *atomic.Int64, v int64) {
	for old := n.Load(); old < v && !n.CompareAndSwap(old, v); old = n.Load() {
	}
}

// patience is how long waitFor waits.
const patience = time.Minute

func waitFor(done func() bool) error {
	for began := time.Now(); !done(); time.Sleep(200 * time.Microsecond) {
		if time.Since(began) > patience {
			return fmt.Errorf("not done after %v", patience)
		}
	}
	return nil
}

// figures are those of so many operations since the meter was started.
func figures(m harness.Meter, operations int) (harness.Figures, error) {
	used, err := m.Stop()
	n := float64(operations)
	return harness.Figures{
		"operations/s":     n / used.Elapsed.Seconds(),
		"CPU µs/operation": float64(used.CPU.Nanoseconds()) / 1e3 / n,
		"MB over base":     float64(used.Memory) / 1e6,
	}, err
}
