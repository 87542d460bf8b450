package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mattn/go-sqlite3"
)

// writerConn is the writing connection. The writer's goroutine uses it directly;
// while a transaction of [Store.Update] is open, only database/sql does.
type writerConn struct {
	conn
	db     *sql.DB
	pinned *sql.Conn

	level int64 // of PRAGMA synchronous; 0 if it is not known
	memo  memo

	// committing is set while a commit of ours runs. Any other is refused: in a
	// transaction whose statement was cancelled SQLite has rolled back, and each
	// further statement would commit by itself.
	committing atomic.Bool
	// lost is set when the open transaction was rolled back or its commit refused.
	lost atomic.Bool
}

// connectWriter opens and sets up the connection.
func connectWriter(dsn string) (*writerConn, error) {
	opened, err := openConn(dsn)
	if err != nil {
		return nil, err
	}
	c := &writerConn{conn: *opened, level: SyncFull.level()}
	c.raw.RegisterCommitHook(func() int {
		if c.committing.Load() {
			return 0
		}
		c.lost.Store(true)
		return 1
	})
	c.raw.RegisterRollbackHook(func() { c.lost.Store(true) })
	if err := c.setUp(); err != nil {
		c.conn.close()
		return nil, err
	}
	// A pool of exactly this connection, for the transactions that are handed out.
	c.db = sql.OpenDB(&connector{c})
	c.db.SetMaxOpenConns(1)
	if c.pinned, err = c.db.Conn(background); err != nil {
		c.shut()
		return nil, err
	}
	return c, nil
}

// restore gives the connection its settings again, after others used it outside
// of a transaction.
func (c *writerConn) restore() error {
	// A lock that was made exclusive is given back only by closing the connection.
	if err := c.verify(map[string]driver.Value{"locking_mode": "normal"}); err != nil {
		return err
	}
	if err := c.run("PRAGMA query_only = 0; PRAGMA foreign_keys = 0; " +
		"PRAGMA ignore_check_constraints = 0; PRAGMA recursive_triggers = 0; PRAGMA defer_foreign_keys = 0"); err != nil {
		return err
	}
	c.level = 0
	if err := c.sync(SyncFull); err != nil {
		return err
	}
	return c.setUp()
}

func (c *writerConn) setUp() error {
	if err := c.run(fmt.Sprintf(
		"PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = %d; PRAGMA journal_size_limit = %d; PRAGMA secure_delete = ON",
		checkpointPages, logLimit)); err != nil {
		return err
	}
	return c.verify(map[string]driver.Value{
		"journal_mode":       "wal",
		"synchronous":        SyncFull.level(),
		"busy_timeout":       int64(0),
		"cache_size":         int64(-cacheKiB),
		"wal_autocheckpoint": int64(checkpointPages),
		"journal_size_limit": int64(logLimit),
		"secure_delete":      int64(1),
		"query_only":         int64(0),
	})
}

// shut closes everything.
func (c *writerConn) shut() error {
	var err error
	if c.pinned != nil {
		err = c.pinned.Close()
	}
	if c.db != nil {
		err = errors.Join(err, c.db.Close())
	}
	return errors.Join(err, c.conn.close())
}

// sync sets how much a commit syncs, and that SQLite copies a long log into the file
// only behind commits that are synced. It must be called outside of transactions:
// inside of one SQLite refuses.
func (c *writerConn) sync(s Sync) error {
	if c.level == s.level() {
		return nil
	}
	c.level = 0
	pages := 0
	if s == SyncFull {
		pages = checkpointPages
	}
	if err := c.run(fmt.Sprintf("PRAGMA synchronous = %s; PRAGMA wal_autocheckpoint = %d", s, pages)); err != nil {
		return err
	}
	c.level = s.level()
	return nil
}

// begin starts a transaction with the write lock, or fails at once.
func (c *writerConn) begin() error {
	c.lost.Store(false)
	return c.exec(beginImmediate)
}

// commit commits the transaction. If it fails the transaction may be open still.
func (c *writerConn) commit() error {
	c.committing.Store(true)
	defer c.committing.Store(false)
	return c.exec(commitAll)
}

// rollback ends the transaction, if there is one.
func (c *writerConn) rollback() error {
	if c.raw.AutoCommit() {
		return nil
	}
	return c.run("ROLLBACK")
}

// dataVersion changes whenever another connection has changed the database.
func (c *writerConn) dataVersion() (int64, error) {
	row, err := c.one(getVersion)
	if err != nil {
		return 0, err
	}
	return integer(row[0]), nil
}

// connector gives the connection to database/sql.
type connector struct{ c *writerConn }

func (f *connector) Connect(context.Context) (driver.Conn, error) {
	return &lentConn{f.c.raw, f.c}, nil
}
func (f *connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// lentConn is the connection as database/sql sees it: in a transaction that the
// writer has begun and will end.
type lentConn struct {
	*sqlite3.SQLiteConn
	c *writerConn
}

func (l *lentConn) Close() error              { return nil }
func (l *lentConn) Begin() (driver.Tx, error) { return &lentTx{l.c}, nil }
func (l *lentConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return &lentTx{l.c}, nil
}

var errNotYours = errors.New("refold: a transaction of Update is committed by returning nil and rolled back by returning an error")

type lentTx struct{ c *writerConn }

// Commit is refused unless the writer calls it.
func (t *lentTx) Commit() error {
	if !t.c.committing.Load() {
		t.c.lost.Store(true)
		return errNotYours
	}
	return t.c.exec(commitAll)
}

// Rollback rolls back, whoever calls it.
func (t *lentTx) Rollback() error {
	t.c.lost.Store(true)
	return t.c.rollback()
}

var _ interface {
	driver.ConnBeginTx
	driver.QueryerContext
	driver.ExecerContext
	driver.ConnPrepareContext
} = (*lentConn)(nil)
