package sqlite

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/store"
)

// database makes a SQLite file with this SQL and closes it.
func database(t testing.TB, path, sql string) {
	t.Helper()
	c, err := openConn("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.run(sql); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsUnknownIsRefusedUntouched(t *testing.T) {
	sql := func(sql string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { database(t, path, sql) }
	}
	raw := func(content string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	newer := func(mode string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			s := open(t, path, nil)
			s.Close()
			database(t, path, "UPDATE refold_meta SET value = 99 WHERE key = 'schema'; PRAGMA journal_mode = "+mode)
		}
	}
	for _, test := range []struct {
		name   string
		make   func(t *testing.T, path string)
		target error
		text   string
	}{
		{"a text", raw("hello"), ErrNotDatabase, ""},
		{"a long text", raw(strings.Repeat("no database ", 1000)), ErrNotDatabase, ""},
		{"a newer version", newer("DELETE"), ErrSchema, "version 99"},
		{"a newer version with a log", newer("WAL"), ErrSchema, "newer"},
		{"one table of ours", sql("CREATE TABLE refold_views (x)"), ErrSchema, "unknown shape"},
		{"other columns", sql(`CREATE TABLE refold_meta (key, value); INSERT INTO refold_meta VALUES ('schema', 1);
			CREATE TABLE refold_documents (x)`), ErrSchema, "unknown shape"},
		{"version zero", sql("CREATE TABLE refold_meta (key, value); INSERT INTO refold_meta VALUES ('schema', 0)"), ErrSchema, ""},
		{"another meta", sql("CREATE TABLE refold_meta (name)"), ErrSchema, ""},
		{"another encoding", sql("PRAGMA encoding = 'UTF-16'; CREATE TABLE t (x)"), nil, "UTF-16"},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "file.db")
			test.make(t, path)
			old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			os.Remove(lockPath(path))
			before, _ := os.ReadFile(path)
			s, err := Open(path, nil)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if test.target != nil && !errors.Is(err, test.target) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v", err)
			}
			after, _ := os.ReadFile(path)
			info, _ := os.Stat(path)
			if !bytes.Equal(before, after) || !info.ModTime().Equal(old) {
				t.Error("the file was changed")
			}
			entries, _ := os.ReadDir(folder)
			for _, e := range entries {
				if e.Name() != "file.db" {
					t.Errorf("%s was left behind", e.Name())
				}
			}
		})
	}
}

func TestSchemaErrorNamesWhatWasFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	open(t, path, nil).Close()
	database(t, path, "UPDATE refold_meta SET value = 7 WHERE key = 'schema'")
	_, err := Open(path, nil)
	e, ok := errors.AsType[*SchemaError](err)
	if !ok || e.Found != 7 || e.Expected != len(schema) || e.Path != path {
		t.Errorf("got %#v", err)
	}
}

func TestADatabaseWithoutOurTablesIsAdopted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	database(t, path, "CREATE TABLE app (x); INSERT INTO app VALUES (42)")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, nil)
	mustAppend(t, s, one("a", "1"))
	c, err := openConn(dsn(path, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.verify(map[string]driver.Value{"journal_mode": "wal", "auto_vacuum": int64(0)}); err != nil {
		t.Error(err)
	}
	if err := c.run("UPDATE app SET x = x + 1"); err != nil {
		t.Errorf("the application's table: %v", err)
	}
	checkModes(t, path, 0o640)
}

func TestAFileThatIsMade(t *testing.T) {
	for _, empty := range []bool{false, true} {
		t.Run(fmt.Sprintf("empty=%v", empty), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			if empty {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, path, nil)
			mustAppend(t, s, one("a", "1"))
			checkModes(t, path, 0o600)
			if err := s.writer.conn.verify(map[string]driver.Value{"auto_vacuum": int64(2), "encoding": "UTF-8"}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for _, suffix := range []string{"-wal", "-shm"} {
				if _, err := os.Stat(path + suffix); err == nil {
					t.Errorf("%s is left after Close", suffix)
				}
			}
		})
	}
}

func checkModes(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Error(err)
		} else if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", filepath.Base(path)+suffix, info.Mode(), want)
		}
	}
}

func TestSettingsAreVerified(t *testing.T) {
	s := fresh(t, nil)
	if err := s.writer.conn.setUp(); err != nil {
		t.Errorf("as they should be: %v", err)
	}
	if err := s.writer.conn.run("PRAGMA synchronous = OFF"); err != nil {
		t.Fatal(err)
	}
	if err := s.writer.conn.setUp(); err == nil || !strings.Contains(err.Error(), "synchronous is 0") {
		t.Errorf("with synchronous off: %v", err)
	}
	s.writer.conn.level = 0
}

func TestOpeningMakesOneCommit(t *testing.T) {
	s := fresh(t, nil)
	other := open(t, s.path, nil)
	if n := logCommits(t, other); n != 1 {
		t.Errorf("%d commits in the log after opening a second time, want 1: it is emptied first", n)
	}
	err := other.read(t.Context(), func(c *conn) error {
		row, err := c.one(getMeta, metaOpened)
		if err == nil && integer(row[0]) != 2 {
			t.Errorf("opened %v times, want 2", row[0])
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestManyOpenTheSameNewFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	c := start(t, "append", path)
	var all sync.WaitGroup
	stores := make([]*Store, 8)
	for i := range stores {
		all.Go(func() {
			s, err := Open(path, &Options{Readers: 1})
			if err != nil {
				t.Error(err)
				return
			}
			stores[i] = s
			if _, err := s.Append(t.Context(), one("a", "1")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c.expect(t, "open")
	c.finish(t)
	for _, s := range stores {
		if s == nil {
			continue
		}
		if s.incarnation != stores[0].incarnation {
			t.Error("two stores in one file")
		}
		defer s.Close()
	}
	if n := checkLog(t, stores[0]); n != 508 {
		t.Errorf("%d operations, want 508", n)
	}
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	for _, o := range []Options{{Sync: 2}, {MaxBody: -1}, {MaxBody: store.MaxBody + 1}, {Readers: -1}} {
		if _, err := Open(filepath.Join(t.TempDir(), "x.db"), &o); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestMaxBodyGoesDown(t *testing.T) {
	s := fresh(t, &Options{MaxBody: 3})
	if _, err := s.Append(t.Context(), one("a", "1234")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a body of 4 bytes: %v", err)
	}
	mustAppend(t, s, one("a", "123"))
}
