package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// logArgs is the command whose output [Commits] reads. The settings before it
// undo what a user's configuration may change in that output.
var logArgs = []string{
	"-c", "core.quotePath=true", "-c", "log.showSignature=false", "-c", "diff.relative=false",
	"log", "--no-merges", "--no-renames", "--numstat", "--reverse",
	"--encoding=UTF-8", "--no-color", "--format=commit %H %at %ae",
}

// openRepository runs git on the repository that dir is in.
func openRepository(ctx context.Context, dir string, count bool) (*source, error) {
	name, err := filepath.Abs(dir)
	if err != nil {
		return nil, inputError{err}
	}
	if info, err := os.Stat(name); err != nil {
		return nil, inputError{err}
	} else if !info.IsDir() {
		return nil, badInput("%s is not a folder; a saved log is read with -log", name)
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, badInput("git was not found: install it, or read a saved log with -log (%w)", err)
	}
	shallow, err := git(ctx, name, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return nil, badInput("%s is not in a git repository that can be read: %w", name, err)
	}
	if _, err := git(ctx, name, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"); err != nil {
		return nil, badInput("the repository %s has no commits", name)
	}
	src := &source{name: name}
	if shallow == "true" {
		src.warning = name + " is a shallow clone: its oldest commits count as if they had made all files (git fetch --unshallow gets the rest)"
	}
	if count {
		out, err := git(ctx, name, "rev-list", "--count", "--no-merges", "HEAD")
		if err != nil {
			return nil, badInput("%s: %w", name, err)
		}
		src.commits, _ = strconv.Atoi(out) // only for the progress bar
	}
	return src, src.startGit(ctx)
}

// git runs a short command and returns what it printed.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd, stderr := command(ctx, dir, args...)
	out, err := cmd.Output()
	if err != nil {
		return "", gitError(ctx, err, stderr)
	}
	return strings.TrimSpace(string(out)), nil
}

func command(ctx context.Context, dir string, args ...string) (*exec.Cmd, *firstBytes) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	// A git hook sets these, and they would win over -C.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "GIT_DIR" || name == "GIT_WORK_TREE" || name == "GIT_INDEX_FILE"
	}), "LC_ALL=C")
	cmd.WaitDelay = 5 * time.Second
	dieWithParent(cmd)
	stderr := new(firstBytes)
	cmd.Stderr = stderr
	return cmd, stderr
}

// gitError is the error of a command that ended with err.
func gitError(ctx context.Context, err error, stderr *firstBytes) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if text, _, _ := strings.Cut(strings.TrimSpace(string(*stderr)), "\n"); text != "" {
		return fmt.Errorf("git says %q (%w)", text, err)
	}
	return fmt.Errorf("git: %w", err)
}

// firstBytes keeps the start of what is written to it.
type firstBytes []byte

func (b *firstBytes) Write(p []byte) (int, error) {
	const most = 4096
	*b = append(*b, p[:min(len(p), most-len(*b))]...)
	return len(p), nil
}

// startGit makes the output of git log the reader of src.
func (src *source) startGit(ctx context.Context) error {
	cmd, stderr := command(ctx, src.name, logArgs...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return badInput("git log: %w", err)
	}
	log := &gitLog{out: out}
	log.wait = func() error {
		if err := cmd.Wait(); err != nil {
			return gitError(ctx, err, stderr)
		}
		return nil
	}
	src.Reader = log
	src.close = func() {
		src.stop() // kills it; harmless if it has ended
		log.end()
	}
	return nil
}

// gitLog reads the output of a git that runs. If git fails, that is the error
// after the last of its output.
type gitLog struct {
	out   io.Reader
	wait  func() error
	ended bool
}

func (l *gitLog) Read(p []byte) (int, error) {
	n, err := l.out.Read(p)
	if err == io.EOF {
		if failed := l.end(); failed != nil {
			err = failed
		}
	}
	return n, err
}

func (l *gitLog) end() error {
	if l.ended {
		return nil
	}
	l.ended = true
	return l.wait()
}
