package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

// runWith runs the program, whose children are processes, and wants an exit status.
func runWith(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out, err told
	if got := run(ctx, args, &out, &err); got != want {
		t.Fatalf("exit status %d, want %d, after %q, stderr:\n%s", got, want, out.String(), err.String())
	}
	return out.String(), err.String()
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}

// TestRun runs it thrice on one file: the second one adds nothing, the third one adds
// streams and points.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	db, picture := filepath.Join(folder, "points.db"), filepath.Join(folder, "load.svg")
	small := []string{"-db", db, "-streams", "4", "-points", "150"}
	out, told := runWith(t, exitOK, append(small, "-plot", picture)...)
	first := storedIn(t, db)
	n := count(first)
	wantIn(t, out, "verified documents: points ", " sets 2, ", fmt.Sprintf("; made of %d points; none differs; processes killed: 1\n", n))
	wantIn(t, told, "killed, it is started again and given batch", fmt.Sprintf("%d points are added, 0 of %d were stored before", n, n))

	text, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(text, new(struct{})); err != nil {
		t.Errorf("the plot: %v", err)
	}

	again, told := runWith(t, exitOK, small...)
	if again != out {
		t.Errorf("the second time %q, before %q", again, out)
	}
	wantIn(t, told, fmt.Sprintf("0 points are added, %d of %d were stored before", n, n))

	_, told = runWith(t, exitOK, "-db", db, "-streams", "5", "-points", "160", "-processes", "1")
	wantIn(t, told, fmt.Sprintf("%d of ", n))
	if more := count(storedIn(t, db)); more <= n {
		t.Errorf("%d points, %d before", more, n)
	}
}

func TestRunOfCSV(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,stream,value\n")
	for i, p := range series(f14Counter...) {
		fmt.Fprintf(&text, "%s,d1.uptime,%g\n%[1]s,d1.counter8,%[3]g\n", timeText(p.T), f14Uptime[i], p.V)
	}
	file := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, seed := range []string{"1", "2"} { // other orders of arrival
		db := filepath.Join(t.TempDir(), "points.db")
		out, _ := runWith(t, exitOK, "-db", db, "-csv", file, "-seed", seed)
		wantIn(t, out, "points 2, sets 1, resets 1, rates 1, sums 1, minutes 5, hours 5, days 5; made of 18 points")
		_, c := openFile(t, db)
		wantValues(t, "the rate", pointsOf(t, c.rates, "rate(d1.counter8)"+f14Hour), f14Rates...)
	}
}

// A document that is not what it must be is found, whichever it is.
func TestDamagedDocumentIsFound(t *testing.T) {
	db := filepath.Join(t.TempDir(), "points.db")
	args := []string{"-db", db, "-streams", "3", "-points", "100"}
	runWith(t, exitOK, args...)
	for _, damage := range []struct{ document, with, want string }{
		{"hours", `{"count":1,"sum":2,"min":2,"max":2,"mean":2,"last":2}`, "hours/d1.counter16/2026-01-01T21 is {Count:1 "},
		{"rates", `{"points":[]}`, "rates/rate(d1.counter16)/2026-01-01T21 is {Points:[]}, the points make {Points:[{T:"},
	} {
		mend := change(t, db, damage.document, damage.with)
		out, told := runWith(t, exitFailed, args...)
		wantIn(t, told, damage.want, "what must be: 1\n")
		if out != "" {
			t.Errorf("it says %q", out)
		}
		mend()
	}
	runWith(t, exitOK, args...)
}

// change changes the view of the first document of a collection behind the back of
// everybody, and returns what changes it back.
func change(t *testing.T, db, collection, with string) (back func()) {
	t.Helper()
	const serving = 2
	conn, err := sql.Open("sqlite3", db)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var generation, document int64
	var body []byte
	err = conn.QueryRow(`SELECT v.generation, v.document, v.body FROM refold_collections AS c
		JOIN refold_generations AS g ON g.collection = c.id AND g.state = ? AND g.source = 0
		JOIN refold_documents AS d ON d.collection = g.space
		JOIN refold_views AS v ON v.generation = g.id AND v.document = d.id
		WHERE c.name = ? ORDER BY d.name LIMIT 1`, serving, collection).Scan(&generation, &document, &body)
	if err != nil {
		t.Fatal(err)
	}
	set := func(conn *sql.DB, body []byte) {
		if _, err := conn.Exec(`UPDATE refold_views SET body = ? WHERE generation = ? AND document = ?`, body, generation, document); err != nil {
			t.Fatal(err)
		}
	}
	set(conn, []byte(with))
	return func() {
		conn, err := sql.Open("sqlite3", db)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		set(conn, body)
	}
}

func TestInterruptedRunGoesOn(t *testing.T) {
	db := filepath.Join(t.TempDir(), "points.db")
	args := []string{"-db", db, "-streams", "6", "-points", "500"}
	ctx, interrupt := context.WithCancel(t.Context())
	err := &told{when: "is started again", then: interrupt}
	if status := run(ctx, args, io.Discard, err); status != exitFailed {
		t.Errorf("exit status %d", status)
	}
	wantIn(t, err.String(), "timeseries: interrupted; the same command goes on from here\n")
	n := count(storedIn(t, db))
	out, _ := runWith(t, exitOK, args...)
	if m := count(storedIn(t, db)); n >= m {
		t.Errorf("%d points were stored when it was interrupted, %d in the end", n, m)
	} else {
		wantIn(t, out, fmt.Sprintf("made of %d points; none differs", m))
	}
}

// told is what the program and its children write, all at once.
type told struct {
	mu   sync.Mutex // guards the following field
	text bytes.Buffer
	// then is called when text is written that contains when; nil for nothing.
	when string
	then func()
}

func (w *told) Write(p []byte) (int, error) {
	if w.then != nil && bytes.Contains(p, []byte(w.when)) {
		w.then()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *told) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestOtherPointsInOneFileAreRefused(t *testing.T) {
	folder := t.TempDir()
	db, file := filepath.Join(folder, "points.db"), filepath.Join(folder, "points.csv")
	write := func(value string) {
		if err := os.WriteFile(file, []byte("time,stream,value\n2026-01-02T03:04:05Z,s1,"+value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1")
	runWith(t, exitOK, "-db", db, "-csv", file)
	write("2")
	_, told := runWith(t, exitFailed, "-db", db, "-csv", file)
	wantIn(t, told, "batch 1: ", "s1/2026-01-02T03", "the file has other points than these")
	if stored := storedIn(t, db); stored["s1"][0].V != 1 {
		t.Errorf("stored is %v", stored)
	}
}

func TestBadInput(t *testing.T) {
	folder := t.TempDir()
	missing, text := filepath.Join(folder, "missing.csv"), filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, told := runWith(t, exitInput, "-csv", missing)
	wantIn(t, told, "timeseries: open "+missing)
	_, told = runWith(t, exitInput, "-csv", text)
	wantIn(t, told, "timeseries: "+text+": line 1: ")
	_, told = runWith(t, exitInput, "-db", text)
	wantIn(t, told, "timeseries: database "+text)
	_, told = runWith(t, exitInput, "-streams", "0")
	wantIn(t, told, "-streams is 0")
	_, told = runWith(t, exitOK, "-help")
	wantIn(t, told, "usage: timeseries [flags]")
}
