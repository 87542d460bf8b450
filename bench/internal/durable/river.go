package durable

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// riverJobs is River on any of its drivers.
type riverJobs[Tx any] struct {
	client *river.Client[Tx]
	handle func(ctx context.Context, payload string) error // set before the client starts
}

// refreshArgs is a job.
type refreshArgs struct {
	Payload string `json:"payload"`
}

// Kind implements [river.JobArgs].
func (refreshArgs) Kind() string { return "refresh" }

// riverPace is how often River looks for jobs; 0 is its default.
type riverPace struct{ cooldown, poll time.Duration }

var (
	riverTuned   = riverPace{cooldown: river.FetchCooldownMin, poll: 20 * time.Millisecond}
	riverDefault = riverPace{}
)

func newRiver[Tx any](driver riverdriver.Driver[Tx], pace riverPace) (*riverJobs[Tx], error) {
	ctx := context.Background()
	quiet := slog.New(slog.DiscardHandler)
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return nil, err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	r, workers := &riverJobs[Tx]{}, river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, j *river.Job[refreshArgs]) error {
		return r.handle(ctx, j.Args.Payload)
	}))
	r.client, err = river.NewClient(driver, &river.Config{
		Logger:            quiet,
		Workers:           workers,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: handlers}},
		FetchCooldown:     pace.cooldown,
		FetchPollInterval: pace.poll,
	})
	return r, err
}

// openRiverSQLite opens the database as the driver's documentation advises: one
// connection.
func openRiverSQLite(synchronous string, wide bool, pace riverPace) func(place) (database[*sql.Tx], queue[*sql.Tx], error) {
	return func(p place) (database[*sql.Tx], queue[*sql.Tx], error) {
		d, err := openSQLite(p.dir, sqliteSettings{synchronous: synchronous, connections: 1, wide: wide})
		if err != nil {
			return nil, nil, err
		}
		r, err := newRiver(riversqlite.New(d.db), pace)
		if err != nil {
			d.close()
			return nil, nil, err
		}
		return d, r, nil
	}
}

func (r *riverJobs[Tx]) add(ctx context.Context, tx Tx, payloads ...string) error {
	if len(payloads) == 1 {
		_, err := r.client.InsertTx(ctx, tx, refreshArgs{payloads[0]}, nil)
		return err
	}
	many := make([]river.InsertManyParams, len(payloads))
	for i, p := range payloads {
		many[i].Args = refreshArgs{p}
	}
	_, err := r.client.InsertManyFastTx(ctx, tx, many)
	return err
}

func (r *riverJobs[Tx]) added() {}

func (r *riverJobs[Tx]) start(handle func(ctx context.Context, payload string) error) (func() error, error) {
	r.handle = handle
	if err := r.client.Start(context.Background()); err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return r.client.Stop(ctx)
	}, nil
}

func (r *riverJobs[Tx]) table() string { return "river_job" }
