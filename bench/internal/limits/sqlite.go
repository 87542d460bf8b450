package limits

import (
	"database/sql"
	"fmt"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"
)

// OpenSQLite opens a new database for one connection, with the driver and the
// settings of Refold's writing connection: the write-ahead log, 64 MB of cache
// and a checkpoint every 10,000 pages.
func OpenSQLite(dir, synchronous, schema string) (*sql.DB, error) {
	dsn := fmt.Sprintf("file:%s?_journal_mode=WAL&_synchronous=%s&_txlock=immediate&_timeout=5000&_cache_size=-65536",
		filepath.Join(dir, "limits.db"), synchronous)
	db, err := sql.Open("sqlite3", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA wal_autocheckpoint = 10000;" + schema); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// wantRows checks how many rows a table has.
func wantRows(db *sql.DB, table string, want int) error {
	var got int
	if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&got); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%d rows in %s, want %d", got, table, want)
	}
	return nil
}
