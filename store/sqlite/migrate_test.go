package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, nil)
	mustAppend(t, s, one("a", "1"))
	s.Close()

	now := len(schema)
	steps := append(schema[:now:now], "CREATE TABLE refold_two (x INTEGER) STRICT", "ALTER TABLE refold_two ADD COLUMN y INTEGER")
	broken := append(steps[:now+1:now+1], "ALTER TABLE refold_two ADD COLUMN y INTEGER; this is no SQL")
	if _, err := openSchema(path, nil, broken); err == nil || !strings.Contains(err.Error(), fmt.Sprint("version ", now+2)) {
		t.Errorf("a migration that fails: %v", err)
	}
	open(t, path, nil).Close() // still the version of now, with no table of the next one

	s, err := openSchema(path, nil, steps)
	if err != nil {
		t.Fatal(err)
	}
	if n := checkLog(t, s); n != 1 {
		t.Errorf("%d operations after the migrations, want 1", n)
	}
	s.Close()
	if _, err := Open(path, nil); !errors.Is(err, ErrSchema) {
		t.Errorf("a later version was opened: %v", err)
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
