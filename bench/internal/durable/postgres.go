package durable

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// postgresDB is the application's side in PostgreSQL.
type postgresDB struct{ pool *pgxpool.Pool }

const postgresTables = `
DROP SCHEMA IF EXISTS refold_bench CASCADE;
CREATE SCHEMA refold_bench;
CREATE TABLE refold_bench.app_operations (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, document TEXT NOT NULL, body BYTEA NOT NULL);
CREATE INDEX ON refold_bench.app_operations (document, id);
CREATE TABLE refold_bench.app_views (document TEXT PRIMARY KEY, body BYTEA NOT NULL);
`

func withoutPostgres(p place) string {
	if p.postgres == "" {
		return "no PostgreSQL is given, see -postgres"
	}
	pool, err := openPool(p.postgres)
	if err == nil {
		defer pool.Close()
		err = pool.Ping(context.Background())
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// openPool has as many connections as there are appenders and handlers.
func openPool(url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = appenders + handlers
	config.ConnConfig.RuntimeParams["search_path"] = "refold_bench"
	return pgxpool.NewWithConfig(context.Background(), config)
}

func openRiverPostgres(pace riverPace) func(place) (database[pgx.Tx], queue[pgx.Tx], error) {
	return func(p place) (database[pgx.Tx], queue[pgx.Tx], error) {
		pool, err := openPool(p.postgres)
		if err != nil {
			return nil, nil, err
		}
		if _, err := pool.Exec(context.Background(), postgresTables); err != nil {
			pool.Close()
			return nil, nil, err
		}
		r, err := newRiver(riverpgxv5.New(pool), pace)
		if err != nil {
			pool.Close()
			return nil, nil, err
		}
		return &postgresDB{pool}, r, nil
	}
}

func (d *postgresDB) close() error {
	_, err := d.pool.Exec(context.Background(), `DROP SCHEMA refold_bench CASCADE`)
	d.pool.Close()
	return err
}

func (d *postgresDB) inTx(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, d.pool, do)
}

func (d *postgresDB) insert(ctx context.Context, tx pgx.Tx, document string, body []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO app_operations (document, body) VALUES ($1, $2)`, document, body)
	return err
}

// refresh locks the document first: two jobs of one document can run at once,
// and the one that read less must not write last.
func (d *postgresDB) refresh(ctx context.Context, document string) (v view, err error) {
	err = d.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, document); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT body FROM app_operations WHERE document = $1 ORDER BY id`, document)
		if err != nil {
			return err
		}
		bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil {
			return err
		}
		if v, err = foldAll(bodies); err != nil {
			return err
		}
		body, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO app_views VALUES ($1, $2) ON CONFLICT (document) DO UPDATE SET body = excluded.body`, document, body)
		return err
	})
	return v, err
}

func (d *postgresDB) views(ctx context.Context) (map[string]view, error) {
	rows, err := d.pool.Query(ctx, `SELECT document, body FROM app_views`)
	if err != nil {
		return nil, err
	}
	all := make(map[string]view)
	var document string
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&document, &body}, func() error {
		var v view
		if err := json.Unmarshal(body, &v); err != nil {
			return err
		}
		all[document] = v
		return nil
	})
	return all, err
}

func (d *postgresDB) count(ctx context.Context, table string) (n int, err error) {
	err = d.pool.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}
