package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// awkDump is what -dump must write for a log, computed by testdata/dump.awk.
func awkDump(t *testing.T, log io.Reader) string {
	t.Helper()
	need(t, "awk")
	cmd := exec.Command("awk", "-f", filepath.Join("testdata", "dump.awk"))
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin = log
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("awk: %v\n%s", err, stderr.String())
	}
	return string(out)
}

func unpacked(t *testing.T, path string) io.Reader {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// madeLog is a log of n commits that change the same few files over and over,
// some of them with names that git quotes.
func madeLog(n int) string {
	paths := []string{"hot", "go.mod", "dir/a b", `"\303\244"`, `"tab\there \"\\"`, `"line\nbreak"`, "image"}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "commit %040x %d author %d@example.org\n\n", i, 1_000_000_000+(i*7919)%10_000, i%13)
		fmt.Fprintf(&b, "%d\t%d\thot\n", i%17, i%5)
		fmt.Fprintf(&b, "%d\t%d\t%s\n", i%11, i%3, paths[1+i%5])
		if i%4 == 0 {
			fmt.Fprintf(&b, "-\t-\timage\n1\t0\tnew/%d\n", i)
		}
	}
	return b.String()
}

// TestRealLog compares the dump of a real history, line by line, with one that
// awk makes of the same log.
func TestRealLog(t *testing.T) {
	const commits, operations, documents = 13639, 104357, 17238
	log := dataFile(t, "git-axonframework.log.gz")
	db := filepath.Join(t.TempDir(), "history.db")
	args := []string{"-log", log, "-db", db, "-writers", "8", "-workers", "2", "-json"}

	first := mustRun(t, "", append(args, "-verify")...)
	t.Log(first.stdout)
	f := figures(t, first.stdout)
	if f.Commits != commits || f.Operations != operations || f.Documents != documents || !f.Verified || f.Mismatches != 0 {
		t.Errorf("figures %+v, want %d commits, %d operations, %d documents", f, commits, operations, documents)
	}
	if f.OperationsPerRun <= 1 || f.Requeues == 0 {
		t.Errorf("operations_per_run is %v and requeues are %d, want above 1 and 0", f.OperationsPerRun, f.Requeues)
	}

	second := mustRun(t, "", append(args, "-dump")...)
	if f := figures(t, second.stdout); f.Operations != 0 || f.Runs != 0 || f.Documents != documents {
		t.Errorf("figures of the second run %+v", f)
	}
	if !strings.Contains(second.stderr, "nothing to add") {
		t.Errorf("the second run says %q", second.stderr)
	}
	sameLines(t, dumped(second.stdout), awkDump(t, unpacked(t, log)))
}

func TestMadeLog(t *testing.T) {
	log := madeLog(500)
	want := awkDump(t, strings.NewReader(log))
	plain, packed := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "log.gz")
	var z bytes.Buffer
	zw := gzip.NewWriter(&z)
	io.WriteString(zw, log)
	zw.Close()
	for path, content := range map[string][]byte{plain: []byte(log), packed: z.Bytes()} {
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []struct{ log, stdin string }{{plain, ""}, {packed, ""}, {"-", log}, {"-", z.String()}} {
		r := mustRun(t, from.stdin, "-log", from.log, "-dump", "-verify")
		sameLines(t, r.stdout, want)
		if !strings.Contains(r.stderr, "folded again: 0 of") || !strings.Contains(r.stderr, "file\n") {
			t.Errorf("stderr %q", r.stderr)
		}
	}
	for _, one := range []string{"-writers", "-workers"} {
		sameLines(t, mustRun(t, "", "-log", plain, "-dump", "-quiet", one, "1").stdout, want)
	}
}

func TestLimit(t *testing.T) {
	log := madeLog(300)
	cut := strings.Index(log, fmt.Sprintf("commit %040x", 120))
	db := filepath.Join(t.TempDir(), "history.db")
	r := mustRun(t, log, "-log", "-", "-limit", "120", "-dump", "-json", "-verify", "-db", db)
	if f := figures(t, r.stdout); f.Commits != 120 || f.Mismatches != 0 {
		t.Errorf("figures %+v", f)
	}
	sameLines(t, dumped(r.stdout), awkDump(t, strings.NewReader(log[:cut])))
	// The rest, and then all: what the file has is more than what is read.
	mustRun(t, log[cut:], "-log", "-", "-verify", "-db", db)
	r = mustRun(t, log, "-log", "-", "-limit", "5", "-verify", "-quiet", "-dump", "-db", db)
	sameLines(t, r.stdout, awkDump(t, strings.NewReader(log)))
	if r.stderr != "" {
		t.Errorf("-quiet writes %q", r.stderr)
	}
	all := mustRun(t, log, "-log", "-", "-limit", "1000", "-db", db)
	if !strings.Contains(all.stdout, "  300   2367      600 ") || strings.Count(all.stdout, "\n") != 11 {
		t.Errorf("the table is\n%s", all.stdout)
	}
}

// TestRepeatedLines reads a log in which a commit lists a file twice, and one
// that has every commit twice.
func TestRepeatedLines(t *testing.T) {
	log := "commit " + hashA + " 5 a\n\n1\t1\tx\n2\t2\tx\n-\t-\ty\n1\t1\tx\n"
	for _, input := range []string{log, log + log} {
		r := mustRun(t, input, "-log", "-", "-dump", "-verify", "-quiet")
		sameLines(t, r.stdout, `{"path":"x","changes":3,"added":4,"deleted":4,"authors":1,"first":5,"last":5,"largest":4,"applied":3}
{"path":"y","changes":1,"added":0,"deleted":0,"authors":1,"first":5,"last":5,"largest":0,"applied":1}
`)
	}
}

// TestOtherHistory reads a commit again with other contents: that is another
// operation under the same id.
func TestOtherHistory(t *testing.T) {
	db := filepath.Join(t.TempDir(), "history.db")
	mustRun(t, "commit "+hashA+" 5 a\n\n1\t1\tx\n", "-log", "-", "-db", db)
	r := runWith(t, "commit "+hashA+" 5 a\n\n2\t1\tx\n", "-log", "-", "-db", db)
	if r.status != exitFailed || !strings.Contains(r.stderr, "append commit "+hashA+": refold: operation id") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}

func TestBadLog(t *testing.T) {
	r := runWith(t, madeLog(3)+"what is this\n", "-log", "-")
	if want := `githistory: log of -: line 15: got "what is this", want ADDED<tab>DELETED<tab>PATH or "commit HASH TIME AUTHOR"` + "\n"; r.status != exitInput || r.stderr != want {
		t.Errorf("status %d, stderr %q, want %q", r.status, r.stderr, want)
	}
	r = runWith(t, "\x1f\x8bnonsense of gzip", "-log", "-")
	if r.status != exitInput || !strings.Contains(r.stderr, "log -: it starts like gzip, but") {
		t.Errorf("status %d, stderr %q", r.status, r.stderr)
	}
}
