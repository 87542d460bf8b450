package durable

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/mikestefanello/backlite"
)

type backliteJobs struct {
	client *backlite.Client
	handle func(ctx context.Context, payload string) error // set before the client starts
}

// refreshTask is a job.
type refreshTask struct{ Payload string }

// Config is that of the README, with nothing retained and a short backoff: jobs
// are not expected to fail.
func (refreshTask) Config() backlite.QueueConfig {
	return backlite.QueueConfig{Name: "refresh", MaxAttempts: 5, Backoff: 10 * time.Millisecond, Timeout: 10 * time.Second}
}

func openBacklite(set sqliteSettings) func(place) (database[*sql.Tx], queue[*sql.Tx], error) {
	return func(p place) (database[*sql.Tx], queue[*sql.Tx], error) {
		d, err := openSQLite(p.dir, set)
		if err != nil {
			return nil, nil, err
		}
		b := &backliteJobs{}
		b.client, err = backlite.NewClient(backlite.ClientConfig{DB: d.db, NumWorkers: handlers, ReleaseAfter: 10 * time.Minute})
		if err == nil {
			b.client.Register(backlite.NewQueue(func(ctx context.Context, t refreshTask) error { return b.handle(ctx, t.Payload) }))
			err = b.client.Install()
		}
		if err != nil {
			d.close()
			return nil, nil, err
		}
		return d, b, nil
	}
}

func (b *backliteJobs) add(ctx context.Context, tx *sql.Tx, payloads ...string) error {
	tasks := make([]backlite.Task, len(payloads))
	for i, p := range payloads {
		tasks[i] = refreshTask{p}
	}
	_, err := b.client.Add(tasks...).Ctx(ctx).Tx(tx).Save()
	return err
}

func (b *backliteJobs) added() { b.client.Notify() }

func (b *backliteJobs) start(handle func(ctx context.Context, payload string) error) (func() error, error) {
	b.handle = handle
	ctx, cancel := context.WithCancel(context.Background())
	b.client.Start(ctx)
	return func() error {
		defer cancel()
		wait, done := context.WithTimeout(ctx, 10*time.Second)
		defer done()
		if !b.client.Stop(wait) {
			return errors.New("backlite: workers did not stop")
		}
		return nil
	}, nil
}

func (b *backliteJobs) table() string { return "backlite_tasks" }
