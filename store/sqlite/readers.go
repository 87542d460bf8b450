package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"

	"github.com/refold-go/refold/store"
)

// readers is a fixed set of reading connections. Each is used by one goroutine
// at a time, and none is held while a caller looks at what was read.
type readers struct {
	idle chan *conn // as many as there are
	all  int
}

// open opens n connections to a store that is there.
func (r *readers) open(path string, n int) error {
	settings := url.Values{
		"mode":          {"rw"}, // to play back the log after a crash
		"_mutex":        {"no"}, // one goroutine at a time
		"_query_only":   {"1"},
		"_synchronous":  {"FULL"},
		"_busy_timeout": {"5000"}, // reading waits only while another recovers or closes the log
	}
	r.idle = make(chan *conn, n)
	for range n {
		c, err := openConn(dsn(path, settings))
		if err != nil {
			return errors.Join(err, r.close())
		}
		r.all++
		r.idle <- c
		err = c.verify(map[string]driver.Value{"journal_mode": "wal", "query_only": int64(1)})
		if err != nil {
			return errors.Join(err, r.close())
		}
	}
	return nil
}

// close waits for the connections that are in use, and closes all.
func (r *readers) close() error {
	var err error
	for ; r.all > 0; r.all-- {
		err = errors.Join(err, (<-r.idle).close())
	}
	return err
}

// read runs f with a reading connection.
func (s *Store) read(ctx context.Context, f func(*conn) error) error {
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	var c *conn
	select {
	case c = <-s.readers.idle:
	case <-s.closing:
		return store.ErrClosed
	case <-ctx.Done():
		return stopped(ctx)
	}
	defer func() { s.readers.idle <- c }()
	return classify(f(c))
}

// stopped is the error of a read whose context ended.
func stopped(ctx context.Context) error {
	return fmt.Errorf("refold: reading was stopped: %w", context.Cause(ctx))
}
