package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// The system tells once that a sync has failed, drops what it could not write, and
// the next sync succeeds: a log that is written on has a hole, and after a power
// cut it ends there, whatever was acknowledged behind it. So a log of which a sync
// may have failed is emptied before it is written again; copying it into the file
// writes everything anew.
//
// SQLite tells nobody if a sync fails in a checkpoint that it makes by itself.
// Behind a synced commit that is harmless, because nothing was left to write. So it
// makes none behind commits that are not synced; when the log has become long of
// these alone, the next one is. What a checkpoint at closing could not write is
// made good by the next opening.

// lookEvery is after how many commits that are not synced, or megabytes of them, it
// is asked how long the log is.
const lookEvery = 16

// isSyncError reports whether a sync may have failed.
func isSyncError(err error) bool {
	e, ok := errors.AsType[sqlite3.Error](err)
	return ok && e.ExtendedCode == sqlite3.ErrIoErrFsync
}

// suspectLog is called when a sync may have failed. The connection is given up.
func (w *writer) suspectLog() {
	w.torn = true
	if w.conn == nil {
		return
	}
	if err := w.mendLog(); err != nil {
		w.log.Warn().Err(err).Msg("refold: the write-ahead log cannot be emptied after an I/O error; it will be before the next write")
	}
	w.abandon()
}

// mendLog empties a log that may have a hole. It finds it in use with a code of
// SQLite or errReaders.
func (w *writer) mendLog() error {
	if !w.torn {
		return nil
	}
	if err := w.conn.truncateLog(); err != nil {
		return err
	}
	if err := w.conn.renewLog(); err != nil {
		return err
	}
	w.torn = false
	return nil
}

// committed is told of each transaction, with about how many bytes it wrote.
func (w *writer) committed(size int) {
	if w.conn.level == SyncFull.level() {
		w.relaxed, w.long = 0, false
		return
	}
	if w.relaxed += 1 + size>>20; w.relaxed < lookEvery {
		return
	}
	w.relaxed = 0
	pages, err := w.conn.logPages()
	if err != nil {
		w.log.Warn().Err(err).Msg("refold: looking at the write-ahead log")
	}
	w.long = err != nil || pages >= checkpointPages
}

// logPages returns how many pages the log has.
func (c *writerConn) logPages() (int64, error) {
	rows, err := c.raw.QueryContext(background, "PRAGMA wal_checkpoint(NOOP)", nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns())) // busy, pages, pages that were copied
	if err := rows.Next(row); err != nil {
		return 0, fmt.Errorf("the length of the log: %w", err)
	}
	return integer(row[1]), nil
}

// renewLog makes it durable that the log was emptied, by a commit that is synced.
// Without it a power cut may bring the old log back, and what is left of that, up to
// its hole, would be put over a file that is newer.
func (c *writerConn) renewLog() error {
	if err := c.sync(SyncFull); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	_, err := c.one(bumpMeta, metaSynced)
	if err == nil {
		err = c.commit()
	}
	if err != nil {
		err = errors.Join(err, c.rollback())
	}
	return err
}

// emptyLog empties the log that is found by Open, if nobody else is using it: what
// is read from it may have been dropped by a sync that failed when it was closed.
// A commit that is synced has to follow.
func (c *writerConn) emptyLog() error {
	err := c.truncateLog()
	switch code(err) {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrFull:
		return nil
	}
	if errors.Is(err, errReaders) {
		return nil
	}
	return err
}
