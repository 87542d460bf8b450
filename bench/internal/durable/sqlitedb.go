package durable

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"
)

// sqliteSettings are how a peer's database is opened. All use the write-ahead
// log, wait 5 s for a lock, and begin transactions with BEGIN IMMEDIATE, without
// which a job that reads before it writes fails when another writes in between.
type sqliteSettings struct {
	synchronous string // FULL, or what the driver has by default: NORMAL
	connections int    // 0 is no limit
	// wide gives it the cache and the checkpoints of Refold: 64 MB, 10,000 pages.
	wide bool
}

// sqliteDB is the application's side in SQLite.
type sqliteDB struct {
	db                       *sql.DB
	insertOne, read, putView *sql.Stmt
}

const sqliteTables = `
CREATE TABLE app_operations (id INTEGER PRIMARY KEY, document TEXT NOT NULL, body BLOB NOT NULL);
CREATE INDEX app_operations_document ON app_operations (document, id);
CREATE TABLE app_views (document TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
`

func openSQLite(dir string, set sqliteSettings) (*sqliteDB, error) {
	dsn := fmt.Sprintf("file:%s?_journal=WAL&_timeout=5000&_txlock=immediate&_fk=true&_synchronous=%s",
		filepath.Join(dir, "peer.db"), set.synchronous)
	if set.wide {
		dsn += "&_cache_size=-65536"
	}
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(set.connections)
	d := &sqliteDB{db: db}
	if err := d.setUp(set); err != nil {
		db.Close()
		return nil, err
	}
	return d, nil
}

func (d *sqliteDB) setUp(set sqliteSettings) error {
	setup := sqliteTables
	if set.wide && set.connections == 1 {
		setup = "PRAGMA wal_autocheckpoint = 10000;" + setup
	}
	if _, err := d.db.Exec(setup); err != nil {
		return err
	}
	for q, stmt := range map[string]**sql.Stmt{
		`INSERT INTO app_operations (document, body) VALUES (?, ?)`:                                     &d.insertOne,
		`SELECT body FROM app_operations WHERE document = ? ORDER BY id`:                                &d.read,
		`INSERT INTO app_views VALUES (?, ?) ON CONFLICT (document) DO UPDATE SET body = excluded.body`: &d.putView,
	} {
		var err error
		if *stmt, err = d.db.Prepare(q); err != nil {
			return err
		}
	}
	return nil
}

func (d *sqliteDB) close() error { return d.db.Close() }

func (d *sqliteDB) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}

func (d *sqliteDB) insert(ctx context.Context, tx *sql.Tx, document string, body []byte) error {
	_, err := tx.StmtContext(ctx, d.insertOne).ExecContext(ctx, document, body)
	return err
}

func (d *sqliteDB) refresh(ctx context.Context, document string) (v view, err error) {
	ctx = context.WithoutCancel(ctx) // a context that can end costs a goroutine a statement
	err = d.inTx(ctx, func(tx *sql.Tx) error {
		rows, err := tx.StmtContext(ctx, d.read).QueryContext(ctx, document)
		if err != nil {
			return err
		}
		defer rows.Close()
		var bodies [][]byte
		for rows.Next() {
			var b []byte
			if err := rows.Scan(&b); err != nil {
				return err
			}
			bodies = append(bodies, b)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if v, err = foldAll(bodies); err != nil {
			return err
		}
		body, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = tx.StmtContext(ctx, d.putView).ExecContext(ctx, document, body)
		return err
	})
	return v, err
}

func (d *sqliteDB) views(ctx context.Context) (map[string]view, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT document, body FROM app_views`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[string]view)
	for rows.Next() {
		var document string
		var body []byte
		if err := rows.Scan(&document, &body); err != nil {
			return nil, err
		}
		var v view
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, err
		}
		all[document] = v
	}
	return all, rows.Err()
}

func (d *sqliteDB) count(ctx context.Context, table string) (n int, err error) {
	err = d.db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	return n, err
}
