package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram makes the test binary the program, for tests that kill it.
const asProgram = "GITHISTORY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program returns a command that runs the program in a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// result is what a call of run did.
type result struct {
	status         int
	stdout, stderr string
}

func runWith(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

// mustRun is runWith for what must succeed.
func mustRun(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	r := runWith(t, stdin, args...)
	if r.status != exitOK {
		t.Fatalf("githistory %q: status %d, stderr:\n%s", args, r.status, r.stderr)
	}
	return r
}

// figures reads the object of -json, which is the last line.
func figures(t *testing.T, stdout string) (r report) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	d := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	return r
}

// dumped is the output without the object of -json at the end.
func dumped(stdout string) string {
	return stdout[:strings.LastIndex(stdout, `{"repository"`)]
}

// dataFile returns one of the real logs, or skips the test.
func dataFile(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv("REFOLD_TEST_DATA")
	if folder == "" {
		t.Skip("REFOLD_TEST_DATA does not name the folder with " + name)
	}
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	return path
}

// need skips the test if the program is not installed.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
}

// sameLines reports the first difference.
func sameLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("line %d is %s\nwant %s", i+1, g[i], w[i])
		}
	}
	if len(g) != len(w) {
		t.Fatalf("%d lines, want %d", len(g), len(w))
	}
}
