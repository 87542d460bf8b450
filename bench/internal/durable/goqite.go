package durable

import (
	"context"
	"database/sql"
	_ "embed"
	"time"

	"maragu.dev/goqite"
	"maragu.dev/goqite/jobs"
)

// goqiteSchema is schema_sqlite.sql of the module, which is to be copied.
//
//go:embed goqite_schema.sql
var goqiteSchema string

type goqiteJobs struct {
	queue *goqite.Queue
	poll  time.Duration // 0 is the default
}

// openGoqite opens the database as its README does: one connection.
func openGoqite(synchronous string, wide bool, poll time.Duration) func(place) (database[*sql.Tx], queue[*sql.Tx], error) {
	return func(p place) (database[*sql.Tx], queue[*sql.Tx], error) {
		d, err := openSQLite(p.dir, sqliteSettings{synchronous: synchronous, connections: 1, wide: wide})
		if err != nil {
			return nil, nil, err
		}
		if _, err := d.db.Exec(goqiteSchema); err != nil {
			d.close()
			return nil, nil, err
		}
		q := goqite.New(goqite.NewOpts{DB: d.db, Name: "jobs"})
		return d, &goqiteJobs{queue: q, poll: poll}, nil
	}
}

func (g *goqiteJobs) add(ctx context.Context, tx *sql.Tx, payloads ...string) error {
	for _, p := range payloads {
		if _, err := jobs.CreateTx(ctx, tx, g.queue, "refresh", goqite.Message{Body: []byte(p)}); err != nil {
			return err
		}
	}
	return nil
}

func (g *goqiteJobs) added() {}

func (g *goqiteJobs) start(handle func(ctx context.Context, payload string) error) (func() error, error) {
	r := jobs.NewRunner(jobs.NewRunnerOpts{Limit: handlers, PollInterval: g.poll, Queue: g.queue})
	r.Register("refresh", func(ctx context.Context, m []byte) error { return handle(ctx, string(m)) })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Start(ctx)
	}()
	return func() error {
		cancel()
		<-ended
		return nil
	}, nil
}

func (g *goqiteJobs) table() string { return "goqite" }
