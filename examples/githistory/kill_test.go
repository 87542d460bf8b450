//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKill kills the program at random moments and lets it go on from what is
// there. In the end it must have what one run without a break has.
func TestKill(t *testing.T) {
	kills, commits := 10, 4000
	if testing.Short() {
		kills = 3
	}
	folder := t.TempDir()
	log, db := filepath.Join(folder, "log"), filepath.Join(folder, "history.db")
	if err := os.WriteFile(log, []byte(madeLog(commits)), 0o666); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	want := mustRun(t, "", "-log", log, "-dump", "-quiet").stdout
	whole := time.Since(start)

	killed := 0
	for range kills {
		cmd := program(t, "-log", log, "-db", db, "-writers", "8", "-workers", "2", "-quiet")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole / 2))))
		cmd.Process.Kill()
		if err := cmd.Wait(); err != nil {
			killed++
		}
	}
	if killed == 0 {
		t.Error("all runs had ended before they were killed")
	}
	last := mustRun(t, "", "-log", log, "-db", db, "-writers", "8", "-workers", "2", "-dump", "-json", "-verify")
	f := figures(t, last.stdout)
	t.Logf("%d of %d runs were killed; the last one added %d operations in %d runs", killed, kills, f.Operations, f.Runs)
	sameLines(t, dumped(last.stdout), want)
}

// TestInterrupt stops the program with the signal of a terminal while it waits
// for its input: it removes its temporary files and says why it ended.
func TestInterrupt(t *testing.T) {
	temp := t.TempDir()
	cmd := program(t, "-log", "-")
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(stdin, madeLog(50))
	waitFor(t, "a database", func() bool {
		found, _ := filepath.Glob(filepath.Join(temp, "githistory-*", "*.db"))
		return len(found) == 1
	})
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("it ended with %v", err)
	}
	if got := stderr.String(); got != "githistory: interrupted\n" {
		t.Errorf("stderr %q", got)
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

// TestNoGitIsLeft ends the program in two ways while its git is at work.
func TestNoGitIsLeft(t *testing.T) {
	need(t, "sh")
	for _, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(how.String(), func(t *testing.T) {
			if how == syscall.SIGKILL && runtime.GOOS != "linux" {
				t.Skip("only Linux kills the children of a killed process; elsewhere git ends at its next write")
			}
			folder := t.TempDir()
			pidFile := filepath.Join(folder, "pid")
			script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n*--numstat*) echo $$ >%s.new; mv %[1]s.new %[1]s; exec sleep 600;;\nesac\necho false\n", pidFile)
			if err := os.WriteFile(filepath.Join(folder, "git"), []byte(script), 0o777); err != nil {
				t.Fatal(err)
			}
			cmd := program(t, "-quiet", folder)
			cmd.Env = append(cmd.Env, "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "TMPDIR="+folder)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := 0
			waitFor(t, "git", func() bool {
				text, err := os.ReadFile(pidFile)
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return err == nil && pid > 0
			})
			cmd.Process.Signal(how)
			err := cmd.Wait()
			if _, ok := errors.AsType[*exec.ExitError](err); !ok {
				t.Errorf("it ended with %v", err)
			}
			waitFor(t, "the end of git", func() bool { return !alive(pid) })
		})
	}
}

// alive reports whether the process runs: a dead one that nobody has waited for
// does not.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, after, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(after, "Z")
	}
	return syscall.Kill(pid, 0) == nil
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}
