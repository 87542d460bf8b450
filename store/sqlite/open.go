package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/mattn/go-sqlite3"
	"github.com/rs/zerolog"

	"github.com/refold-go/refold/store"
)

const (
	// cacheKiB is the cache of the writing connection, and checkpointPages how long
	// the log grows before it is copied into the file (40 MB). Together they nearly
	// double inserts into many documents; the cache alone gives 14 %.
	cacheKiB        = 64 << 10
	checkpointPages = 10_000
	// logLimit is to how many bytes the log is cut when a checkpoint has emptied it.
	logLimit = 64 << 20
	// All that is deleted is overwritten with zeros (secure_delete), at any time and
	// not only to forget a document: an old view of it may have been deleted long
	// before. Appends and small views cost nothing more that can be measured, a
	// commit of a view of 20 KB 18 µs, one of 400 KB 320 µs: a fifth.
	// openPatience is how long Open waits for others that open or change the file.
	openPatience = 10 * time.Second
	// slowStep is after how long a step of opening is worth a line in the log.
	slowStep = 500 * time.Millisecond
)

// Open opens the store in a SQLite file. nil options mean the zero [Options].
//
// path is a file in an existing folder, never a DSN. A missing or empty file is
// made, readable by its owner only. A database without tables of Refold is
// adopted: it is switched to the write-ahead log, which it keeps, and gets the
// tables. A store of an older schema is brought up to date in one transaction.
//
// Errors: [ErrNotDatabase], [*SchemaError], [*store.InvalidError] for a path that
// is none, and those of the system. A file that is refused is left as it was.
// Open waits up to ten seconds for another process that is opening the file or
// writing to it.
func Open(path string, o *Options) (*Store, error) {
	return openSchema(path, o, schema)
}

func openSchema(path string, o *Options, migrations []string) (*Store, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	full, size, err := resolvePath(path)
	if err != nil {
		return nil, err
	}
	log := options.Logger.With().Str("database", full).Logger()
	found, err := inspect(full, size, migrations)
	if err != nil {
		return nil, err
	}

	var c *writerConn
	err = step(log, "opening the file and recovering its log", func() (err error) {
		c, err = openWriter(full, found == nothing)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("refold: opening %s: %w", full, err)
	}
	s := newStore(full, options, log, c)
	err = step(log, "preparing the tables", func() error { return s.prepare(found, migrations) })
	if err != nil {
		c.shut()
		return nil, err
	}
	if err := s.readers.open(full, options.Readers); err != nil {
		c.shut()
		return nil, fmt.Errorf("refold: opening %s: %w", full, err)
	}
	s.writer.lookAtVersion() // from here on others are followed
	left, err := s.unfinished()
	if err != nil {
		return nil, fmt.Errorf("refold: opening %s: %w", full, errors.Join(err, s.readers.close(), c.shut()))
	}
	s.writer.start()
	if left {
		s.sweeping.Go(s.sweep)
	}
	return s, nil
}

// prepare makes the store ready to serve: tables, folder on the disk, and one
// synced commit, since what is visible after a crash may not have been synced.
func (s *Store) prepare(found contents, migrations []string) error {
	c := s.writer.conn
	if found != nothing {
		if err := c.emptyLog(); err != nil {
			return fmt.Errorf("refold: opening %s: %w", s.path, classify(err))
		}
	}
	if err := retry(openPatience, c.begin); err != nil {
		return fmt.Errorf("refold: opening %s: %w", s.path, classify(err))
	}
	s.writer.version = int64(len(migrations))
	from, err := migrate(&c.conn, s.path, migrations)
	if err == nil {
		err = s.readMeta()
	}
	if err == nil {
		err = c.commit()
	}
	if err != nil {
		c.run("ROLLBACK")
		return err
	}
	// Without this a power cut may bring back the journal of the switch to the log.
	// Whoever made the file may have died before it could do it.
	if err := syncFolder(filepath.Dir(s.path)); err != nil && from == 0 {
		return fmt.Errorf("refold: syncing the folder of a new store: %w", err)
	}
	switch {
	case found == foreign && from == 0:
		s.log.Info().Msg("refold: adopted a database, which now uses a write-ahead log")
	case from > 0 && int(from) < len(migrations):
		s.log.Info().Int64("from", from).Int("to", len(migrations)).Msg("refold: changed the schema")
	}
	return nil
}

// readMeta reads what does not change while the store is open.
func (s *Store) readMeta() error {
	var read [2]uint64
	for i, key := range []string{metaIncarnation, metaSalt} {
		row, err := s.writer.conn.one(getMeta, key)
		if err != nil && !errors.Is(err, errMissing) {
			return err
		}
		n := int64(0)
		if row != nil {
			n, _ = row[0].(int64)
		}
		if n == 0 {
			return &SchemaError{Path: s.path, Expected: len(schema)}
		}
		read[i] = uint64(n) // #nosec G115 -- only the bits matter
	}
	s.incarnation = store.Incarnation(read[0])
	s.writer.of, s.writer.salt = s.incarnation, read[1]
	return nil
}

// openWriter opens the writing connection, which makes the file if it is fresh.
func openWriter(path string, fresh bool) (*writerConn, error) {
	settings := url.Values{
		"mode":          {"rw"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_txlock":       {"immediate"},
		"_busy_timeout": {"1000"},
		"_cache_size":   {fmt.Sprint(-cacheKiB)},
	}
	if fresh {
		// SQLite gives a new file the mode of another one if asked to, and its own
		// -wal and -shm files the mode of the main file.
		if err := touchLock(lockPath(path), 0o600); err != nil {
			return nil, err
		}
		settings.Set("mode", "rwc")
		settings.Set("modeof", lockPath(path))
		settings.Set("_auto_vacuum", "incremental")
	}
	var c *writerConn
	// Switching to the log does not wait for a lock in every case.
	err := retry(openPatience, func() (err error) {
		c, err = connectWriter(dsn(path, settings))
		return err
	})
	return c, err
}

// retry calls f until it does not find the database locked, for so long.
func retry(patience time.Duration, f func() error) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		err := f()
		if c := code(err); c != sqlite3.ErrBusy && c != sqlite3.ErrLocked || time.Now().After(deadline) {
			return err
		}
	}
}

// touchLock makes the lock file with a mode, whatever the umask is.
func touchLock(path string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, mode) // #nosec G304 -- the application names its file
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(mode), f.Close())
}

// syncFolder makes the names of new files durable.
func syncFolder(path string) error {
	f, err := os.Open(path) // #nosec G304 -- the application names its file
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// step runs f. If that takes long, the log says so while it does, and again
// when it is done.
func step(log zerolog.Logger, what string, f func() error) error {
	start := time.Now()
	ctx, done := context.WithTimeout(context.Background(), slowStep)
	stop := context.AfterFunc(ctx, func() { log.Info().Msg("refold: still " + what) })
	err := f()
	if !stop() {
		log.Info().Dur("took", time.Since(start)).Err(err).Msg("refold: done " + what)
	}
	done()
	return err
}
