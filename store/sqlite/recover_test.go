package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/refold-go/refold/store"
)

// A process that died in a transaction left a rollback journal. Looking at the
// file means playing it back, as for everyone who opens it.
func TestAHotJournalIsPlayedBack(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "app.db")
	c, err := openConn("file:" + path + "?_journal_mode=DELETE")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	err = c.run(`CREATE TABLE app (x INTEGER, y BLOB); INSERT INTO app VALUES (1, zeroblob(10));
		PRAGMA cache_size = 1; BEGIN; UPDATE app SET x = 2;
		INSERT INTO app WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100) SELECT x, zeroblob(4000) FROM n`)
	if err != nil {
		t.Fatal(err)
	}
	// What a crash at this moment would leave.
	crashed := filepath.Join(t.TempDir(), "app.db")
	for _, suffix := range []string{"", "-journal"} {
		content, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(crashed+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, crashed, nil)
	mustAppend(t, s, one("a", "1"))
	if n := rows(t, s); n != 1 {
		t.Errorf("%d rows of the application, want 1", n)
	}
}

// workFunc is work of a test, done by the writer.
type workFunc func(t *transaction) error

func (f workFunc) do(t *transaction) error { return f(t) }

func TestAfterAFailedCommitTheFileIsOpenedAgain(t *testing.T) {
	s := fresh(t, nil)
	mustAppend(t, s, one("a", "1"))
	after, err := s.Follow(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	err = s.submit(t.Context(), newRequest(workFunc(func(t *transaction) error {
		s.writer.conn.raw.RegisterCommitHook(func() int { return 1 }) // of this connection only
		t.touch = true
		return nil
	}), true, 0))
	if !errors.Is(err, store.ErrInDoubt) {
		t.Errorf("a commit that failed: %v", err)
	}
	mustAppend(t, s, one("a", "2"))
	if n := checkLog(t, s); n != 2 {
		t.Errorf("%d operations, want 2", n)
	}
	// What others wrote in between is not known: whoever follows must look.
	if n, err := s.Follow(t.Context(), after); err != nil || n == after {
		t.Errorf("follow: %d, %v", n, err)
	}
}

func TestAStatementThatFailsEndsOnlyItsOwnRequest(t *testing.T) {
	s := fresh(t, nil)
	broken := errors.New("no memory")
	var errs [3]error
	grouped(t, s,
		func() { _, errs[0] = s.Append(t.Context(), one("a", "1")) },
		func() {
			errs[1] = s.submit(t.Context(), newRequest(workFunc(func(t *transaction) error {
				if err := t.run.exec(bumpMeta, metaPosition); err != nil { // half-way
					return err
				}
				return &statementError{"thinking", broken}
			}), true, 0))
		},
		func() { _, errs[2] = s.Append(t.Context(), one("a", "2")) },
	)
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("the others: %v, %v", errs[0], errs[2])
	}
	if !errors.Is(errs[1], broken) || errors.Is(errs[1], store.ErrInDoubt) {
		t.Errorf("the broken one: %v", errs[1])
	}
	if n := checkLog(t, s); n != 2 {
		t.Errorf("%d operations, want 2", n)
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	all  bytes.Buffer
	some chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(p)
	l.some <- struct{}{}
	return len(p), nil
}

func TestALongStepOfOpeningExplainsItself(t *testing.T) {
	l := &lines{some: make(chan struct{}, 10)}
	err := step(zerolog.New(l), "digging", func() error {
		<-l.some // it takes as long as it takes to be noticed
		return errTooLate
	})
	if !errors.Is(err, errTooLate) {
		t.Error(err)
	}
	<-l.some
	d := json.NewDecoder(&l.all)
	for _, want := range []string{"refold: still digging", "refold: done digging"} {
		var line struct{ Level, Message string }
		if err := d.Decode(&line); err != nil || line.Level != "info" || line.Message != want {
			t.Errorf("got %+v, %v, want %q", line, err, want)
		}
	}
	if err := step(zerolog.New(l), "nothing", func() error { return nil }); err != nil || len(l.some) > 0 {
		t.Error("a quick step was logged")
	}
}

func TestTextOfAFailureIsCutBetweenCharacters(t *testing.T) {
	long := string(bytes.Repeat([]byte("ä"), store.MaxFailureText)) // 2 bytes each
	for _, test := range []struct {
		in   string
		want int
	}{{"", 0}, {"short", 5}, {long, store.MaxFailureText}, {"x" + long, store.MaxFailureText - 1}} {
		if got := cut(test.in); len(got) != test.want {
			t.Errorf("%d bytes cut to %d, want %d", len(test.in), len(got), test.want)
		}
	}
}
