package sqlite

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/mattn/go-sqlite3"
)

// contents is what an existing file turned out to be.
type contents uint8

const (
	nothing contents = iota // no file, or an empty one: to be made
	foreign                 // a database without our tables: to be adopted
	ours                    // a store, maybe of an older version
)

// inspect looks at a file without changing anything. Errors: [ErrNotDatabase],
// [*SchemaError], and those of reading.
//
// Another process may be making or changing the file meanwhile. What is found
// good is looked at again in a transaction; what is found bad must have stood
// still while it was looked at.
func inspect(path string, size int64, migrations []string) (contents, error) {
	if size <= 0 {
		return nothing, nil
	}
	for try := 1; ; try++ {
		before := stamp(path)
		found, err := look(path, before, migrations)
		if err == nil || try == 5 || before == stamp(path) {
			return found, err
		}
		time.Sleep(10 * time.Millisecond) // the other's turn; opening is rare
	}
}

// standing is by what one sees that a file was changed.
type standing struct {
	size         int64
	modified     time.Time
	wal, journal bool // whether these files of SQLite are beside it
}

func stamp(path string) (s standing) {
	if info, err := os.Stat(path); err == nil {
		s.size, s.modified = info.Size(), info.ModTime()
	}
	_, err := os.Lstat(path + "-wal")
	s.wal = err == nil
	_, err = os.Lstat(path + "-journal")
	s.journal = err == nil
	return s
}

func look(path string, at standing, migrations []string) (contents, error) {
	settings := url.Values{"mode": {"ro"}, "_busy_timeout": {"5000"}}
	if !at.wal && !at.journal {
		// Nobody is in it. Without this flag SQLite makes -wal and -shm files for a
		// database in WAL mode even to read it, and a read-only connection leaves
		// them behind.
		settings.Set("immutable", "1")
	}
	found, err := lookWith(dsn(path, settings), path, migrations)
	if at.journal && code(err) == sqlite3.ErrReadonly {
		// A process died in a transaction and left a rollback journal, which only a
		// writing connection can play back, as every one does when it opens the file.
		found, err = lookWith(dsn(path, url.Values{"mode": {"rw"}}), path, migrations)
	}
	return found, err
}

func lookWith(dsn, path string, migrations []string) (contents, error) {
	c, err := openConn(dsn)
	if err == nil {
		defer c.close()
		var found contents
		if found, err = recognize(c, path, migrations); err == nil {
			return found, nil
		}
	}
	if code(err) == sqlite3.ErrNotADB {
		return nothing, fmt.Errorf("%w: %s", ErrNotDatabase, path)
	}
	if errors.Is(err, ErrSchema) {
		return nothing, err
	}
	return nothing, fmt.Errorf("refold: looking at %s: %w", path, err)
}

// recognize tells what the database is that c has open.
func recognize(c *conn, path string, migrations []string) (contents, error) {
	tables, err := c.tables()
	if err != nil {
		return nothing, err
	}
	encoding, err := c.pragma("encoding")
	if err != nil {
		return nothing, err
	}
	if encoding != "UTF-8" {
		return nothing, fmt.Errorf("its encoding is %v, want UTF-8", encoding)
	}
	if len(tables) == 0 {
		return foreign, nil
	}
	version, err := schemaVersion(c, tables)
	if err != nil {
		return nothing, err
	}
	switch known := len(migrations); {
	case version < 1 || version > int64(known):
		return nothing, &SchemaError{Path: path, Found: max(int(version), 0), Expected: known}
	case version < int64(known):
		if same, err := hasShape(c, migrations[:version]); err != nil {
			return nothing, err
		} else if !same {
			return nothing, &SchemaError{Path: path, Expected: known}
		}
		return ours, nil
	}
	// Preparing all that will be used proves that all tables and columns are there.
	for s := range statementCount {
		if _, err := c.keep(s); code(err) == sqlite3.ErrError {
			return nothing, &SchemaError{Path: path, Expected: len(migrations)}
		} else if err != nil {
			return nothing, err
		}
	}
	return ours, nil
}

// schemaVersion returns the version that a database with these tables says it
// has; 0 if it says none.
func schemaVersion(c *conn, tables []string) (int64, error) {
	if len(tables) == 0 {
		return 0, nil
	}
	row, err := c.one(getMeta, metaSchema)
	if code(err) == sqlite3.ErrError || errors.Is(err, errMissing) { // no such table or column
		return 0, nil
	}
	if err != nil || row == nil {
		return 0, err
	}
	version, _ := row[0].(int64)
	return version, nil
}
