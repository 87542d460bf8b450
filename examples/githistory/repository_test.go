package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repository is a git repository of a test.
type repository struct {
	t     *testing.T
	path  string
	clock int64
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	need(t, "git")
	r := &repository{t: t, path: t.TempDir(), clock: 1_000_000_000}
	r.git("init", "-q")
	return r
}

// git runs a command as the given author, with nothing of the user's settings.
func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.command("one@example.org", args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (r *repository) command(author string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", append([]string{"-C", r.path}, args...)...)
	now := fmt.Sprintf("%d +0100", r.clock)
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL="+author, "GIT_AUTHOR_DATE="+now,
		"GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=y", "GIT_COMMITTER_DATE="+now)
	return cmd
}

func (r *repository) write(path, content string) {
	r.t.Helper()
	full := filepath.Join(r.path, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o666); err != nil {
		r.t.Skipf("the file system refuses %q: %v", path, err)
	}
}

func (r *repository) commit(author string) {
	r.t.Helper()
	r.git("add", "-A")
	r.clock += 10
	if out, err := r.command(author, "commit", "-q", "--allow-empty", "-m", "x").CombinedOutput(); err != nil {
		r.t.Fatalf("git commit: %v\n%s", err, out)
	}
}

// oddPaths are paths that git quotes, with their ids.
var oddPaths = map[string]string{
	"plain.txt":       "plain.txt",
	"a b":             "a b",
	"ä/ö ü.txt":       "ä/ö ü.txt",
	"tab\there":       "tab\there",
	"line\nbreak":     "line\nbreak",
	`quote"inside`:    `quote"inside`,
	`back\slash`:      `back\slash`,
	"control\x01\x7f": "control\x01\x7f",
	"not\xe4utf8":     `"not\344utf8"`,
	`"not\344utf8"`:   `"\"not\\344utf8\""`,
}

func TestOddPaths(t *testing.T) {
	r := newRepository(t)
	long := strings.Repeat(strings.Repeat("d", 199)+"/", 3) + "file"
	longAndOdd := strings.Repeat(strings.Repeat("é", 99)+"/", 3) + "file"
	want := map[string]bool{}
	for path, id := range oddPaths {
		r.write(path, "1\n2\n")
		want[id] = true
	}
	r.write(long, "x\n")
	r.write(longAndOdd, "x\n")
	want[documentID(long)], want[documentID(longAndOdd)] = true, true
	r.commit("Äuthor with space@example.org")

	dump := mustRun(t, "", "-dump", "-quiet", "-verify", r.path)
	lines := strings.Split(strings.TrimSpace(dump.stdout), "\n")
	if len(lines) != len(want) {
		t.Errorf("%d documents, want %d", len(lines), len(want))
	}
	for _, l := range lines {
		got := decodeLine(t, l)
		if !want[got.Path] {
			t.Errorf("document %q", got.Path)
		}
		if len(got.Path) > 500 {
			if !isCut(got.Path) || got.Added != 1 {
				t.Errorf("%+v", got)
			}
			continue
		}
		if got != (line{got.Path, 1, 2, 0, 1, r.clock, r.clock, 2, 1}) {
			t.Errorf("%+v", got)
		}
	}
}

func TestRepository(t *testing.T) {
	r := newRepository(t)
	r.write("a", "1\n2\n3\n")
	r.write("dir/b", "1\n")
	r.write("image", "\x00\x01\x02")
	r.commit("one@example.org")
	r.write("a", "1\n2\n")
	r.commit("two@example.org")
	r.commit("two@example.org") // without a change
	r.clock -= 1000
	r.write("a", "2\n1\n")
	r.write("image", "\x00\x01\x02\x03")
	r.commit("one@example.org")

	db := filepath.Join(t.TempDir(), "history.db")
	first := mustRun(t, "", "-json", "-dump", "-verify", "-db", db, "-writers", "2", "-workers", "1", r.path)
	sameLines(t, dumped(first.stdout), `{"path":"a","changes":3,"added":4,"deleted":2,"authors":2,"first":999999040,"last":1000000020,"largest":3,"applied":3}
{"path":"dir/b","changes":1,"added":1,"deleted":0,"authors":1,"first":1000000010,"last":1000000010,"largest":1,"applied":1}
{"path":"image","changes":2,"added":0,"deleted":0,"authors":1,"first":999999040,"last":1000000010,"largest":0,"applied":2}
`)
	got := figures(t, first.stdout)
	if got.Repository != r.path || got.Commits != 4 || got.Operations != 6 || got.Documents != 3 || !got.Verified || got.Mismatches != 0 || got.Runs < 3 {
		t.Errorf("figures %+v", got)
	}

	second := mustRun(t, "", "-json", "-db", db, r.path)
	if got := figures(t, second.stdout); got.Commits != 4 || got.Operations != 0 || got.Documents != 3 || got.Runs != 0 || got.Verified {
		t.Errorf("figures of the second run %+v", got)
	}
	if !strings.Contains(second.stderr, "nothing to add: all 6 changes of 4 commits were stored before") {
		t.Errorf("the second run says\n%s", second.stderr)
	}

	r.write("dir/b", "2\n")
	r.commit("three@example.org")
	third := mustRun(t, "", "-json", "-verify", "-db", db, filepath.Join(r.path, "dir"))
	if got := figures(t, third.stdout); got.Commits != 5 || got.Operations != 1 || got.Documents != 3 {
		t.Errorf("figures of the third run %+v", got)
	}
}

func TestSourceRefused(t *testing.T) {
	folder := t.TempDir()
	refused := func(t *testing.T, want string, args ...string) {
		t.Helper()
		start := time.Now()
		db := filepath.Join(t.TempDir(), "db")
		r := runWith(t, "", append([]string{"-db", db}, args...)...)
		if r.status != exitInput || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("status %d, stdout %q, stderr %q; want 2 and one line with %q", r.status, r.stdout, r.stderr, want)
		}
		if _, err := os.Stat(db); err == nil && !strings.Contains(want, "log of") {
			t.Error("a database was made")
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
	}
	t.Run("no repository", func(t *testing.T) {
		need(t, "git")
		t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(folder))
		refused(t, folder+" is not in a git repository that can be read: git says \"fatal: not a git repository", folder)
	})
	t.Run("no folder", func(t *testing.T) { refused(t, "no such file", filepath.Join(folder, "gone")) })
	t.Run("a file", func(t *testing.T) {
		file := filepath.Join(folder, "file")
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		refused(t, "is not a folder", file)
	})
	t.Run("no git", func(t *testing.T) {
		t.Setenv("PATH", folder)
		refused(t, "git was not found", folder)
	})
	t.Run("no commits", func(t *testing.T) { refused(t, "has no commits", newRepository(t).path) })
	t.Run("damaged", func(t *testing.T) {
		r := newRepository(t)
		r.write("a", "1\n")
		r.commit("one@example.org")
		tree := strings.TrimSpace(r.git("rev-parse", "HEAD^{tree}"))
		if err := os.Remove(filepath.Join(r.path, ".git", "objects", tree[:2], tree[2:])); err != nil {
			t.Fatal(err)
		}
		refused(t, "log of "+r.path, r.path)
	})
	t.Run("no log", func(t *testing.T) { refused(t, "no such file", "-log", filepath.Join(folder, "gone")) })
	t.Run("folder as log", func(t *testing.T) { refused(t, "is a directory", "-log", folder) })
	t.Run("empty log", func(t *testing.T) { refused(t, "log of -: there are no commits in it", "-log", "-") })
}

func TestShallowClone(t *testing.T) {
	r := newRepository(t)
	for _, text := range []string{"1\n", "2\n", "3\n"} {
		r.write("a", text)
		r.commit("one@example.org")
	}
	clone := filepath.Join(t.TempDir(), "clone")
	r.git("clone", "-q", "--depth", "2", "file://"+r.path, clone)
	got := mustRun(t, "", "-json", "-quiet", clone)
	if !strings.Contains(got.stderr, "warning: "+clone+" is a shallow clone") {
		t.Errorf("stderr %q", got.stderr)
	}
	if f := figures(t, got.stdout); f.Commits != 2 {
		t.Errorf("%+v", f)
	}
}
