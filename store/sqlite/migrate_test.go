package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, nil)
	mustAppend(t, s, one("a", "1"))
	s.Close()

	steps := []string{schemaVersion1, schemaVersion2, "CREATE TABLE refold_two (x INTEGER) STRICT", "ALTER TABLE refold_two ADD COLUMN y INTEGER"}
	broken := append(steps[:3:3], "ALTER TABLE refold_two ADD COLUMN y INTEGER; this is no SQL")
	if _, err := openSchema(path, nil, broken); err == nil || !strings.Contains(err.Error(), "version 4") {
		t.Errorf("a migration that fails: %v", err)
	}
	open(t, path, nil).Close() // still version 2, with no table of version 3

	s, err := openSchema(path, nil, steps)
	if err != nil {
		t.Fatal(err)
	}
	if n := checkLog(t, s); n != 1 {
		t.Errorf("%d operations after the migrations, want 1", n)
	}
	s.Close()
	if _, err := Open(path, nil); !errors.Is(err, ErrSchema) {
		t.Errorf("version 4 opened by version 2: %v", err)
	}

	fresh := filepath.Join(t.TempDir(), "fresh.db")
	s, err = openSchema(fresh, nil, steps)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.writer.conn.run("SELECT x, y FROM refold_two"); err != nil {
		t.Error(err)
	}
}
