package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/refold-go/refold/store"
)

const (
	// defaultRewrite is up to how many bytes of the file Forget rewrites the tables.
	defaultRewrite = 16 << 20
	// shrinkPages is how many pages are given back at a time.
	shrinkPages = 256
	// truncatePatience is how long others cannot write while one attempt to empty
	// the log waits for readers, and truncatePause the longest pause between two.
	truncatePatience = 20 * time.Millisecond
	truncatePause    = 500 * time.Millisecond
)

// rewrite has the statements that write the tables with contents of documents
// anew: deleting all rows gives all pages but the root back, with zeros, and
// inserting in order fills new ones.
var rewrite = func() (all string) {
	for _, table := range []struct{ name, order string }{
		{"refold_documents", "id"},
		{"refold_operations", "document, seq"},
		{"refold_progress", "generation, document"},
		{"refold_views", "generation, document"},
		{"refold_failures", "generation, document"},
		{"refold_discards", "collection, name, seq"},
		{"refold_deltas", "document, seq"},
		{"refold_contributions", "document, input, source"},
		{"refold_edges", "document, collection, name"},
		{"refold_fanouts", "document"},
	} {
		all += fmt.Sprintf(`CREATE TEMP TABLE refold_copy AS SELECT * FROM main.%[1]s;
			DELETE FROM main.%[1]s;
			INSERT INTO main.%[1]s SELECT * FROM temp.refold_copy ORDER BY %[2]s;
			DROP TABLE temp.refold_copy;`, table.name, table.order)
	}
	return all
}()

// scrub removes the traces of what was erased.
func (s *Store) scrub(ctx context.Context) error {
	rewrite := func(c *writerConn) error { return c.rewriteTables(s.options.Rewrite) }
	if err := s.alone(ctx, rewrite); err != nil {
		return err
	}
	if err := s.shrink(ctx); err != nil {
		return err
	}
	return s.alone(ctx, (*writerConn).truncateLog)
}

// alone has the writer do something outside of a transaction, again and again
// while others are in the way.
func (s *Store) alone(ctx context.Context, do func(*writerConn) error) error {
	var timer *time.Timer
	for pause := time.Millisecond; ; pause = min(2*pause, truncatePause) {
		r := newRequest(nil, true, 0)
		r.alone = do
		err := s.submit(ctx, r)
		if code(err) != sqlite3.ErrBusy && code(err) != sqlite3.ErrLocked && !errors.Is(err, errReaders) {
			return ended(ctx, err)
		}
		if timer == nil {
			timer = time.NewTimer(pause)
			defer timer.Stop()
		} else {
			timer.Reset(pause)
		}
		select {
		case <-timer.C:
		case <-s.closing:
			return store.ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// rewriteTables writes all tables anew if the file has at most so many bytes.
func (c *writerConn) rewriteTables(limit int64) error {
	pages, err := c.number("page_count")
	if err != nil {
		return err
	}
	size, err := c.number("page_size")
	if err != nil || pages*size > limit {
		return err
	}
	if err := c.sync(SyncNormal); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	if err := c.run(rewrite); err != nil {
		return errors.Join(err, c.rollback())
	}
	return c.commit()
}

// shrink gives free pages at the end of the file back, a few at a time, if the
// file is made for that.
func (s *Store) shrink(ctx context.Context) error {
	for left := true; left; {
		err := s.alone(ctx, func(c *writerConn) (err error) {
			left, err = c.shrinkSome()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const incremental = 2 // of PRAGMA auto_vacuum

func (c *writerConn) shrinkSome() (left bool, err error) {
	mode, err := c.number("auto_vacuum")
	if err != nil || mode != incremental {
		return false, err
	}
	if err := c.sync(SyncNormal); err != nil {
		return false, err
	}
	c.committing.Store(true)
	defer c.committing.Store(false)
	// It takes a step for each page.
	rows, err := c.raw.QueryContext(background, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkPages), nil)
	if err != nil {
		return false, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	for err == nil {
		err = rows.Next(row)
	}
	if err := errors.Join(rows.Close()); err != nil {
		return false, err
	}
	if !errors.Is(err, io.EOF) {
		return false, err
	}
	free, err := c.number("freelist_count")
	return free > 0, err
}

// errReaders means that somebody reads from the log.
var errReaders = errors.New("refold: the write-ahead log is being read")

// truncateLog copies the log into the file and empties it.
func (c *writerConn) truncateLog() error {
	if err := c.sync(SyncFull); err != nil {
		return err
	}
	if err := c.run(fmt.Sprintf("PRAGMA busy_timeout = %d", truncatePatience.Milliseconds())); err != nil {
		return err
	}
	busy, err := c.number("wal_checkpoint(TRUNCATE)")
	err = errors.Join(err, c.run("PRAGMA busy_timeout = 0"))
	if err == nil && busy != 0 {
		return errReaders
	}
	return err
}

// number returns the value of a PRAGMA that is a number.
func (c *conn) number(pragma string) (int64, error) {
	v, err := c.pragma(pragma)
	return integer(v), err
}
