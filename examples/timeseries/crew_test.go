//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// badChild makes the test binary a child that does what its value says.
const badChild = "TIMESERIES_TEST_BAD_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(badChild); how != "" {
		behaveBadly(how, os.Args[len(os.Args)-1])
	}
	if len(os.Args) > 1 && os.Args[1] == childRole {
		main()
	}
	os.Exit(m.Run())
}

// behaveBadly is a child that never answers well.
func behaveBadly(how, db string) {
	switch how {
	case "stores and is killed": // before its answer
		in, out := io.Pipe()
		go func() {
			fmt.Fprintln(os.Stderr, fold(context.Background(), db, os.Stdin, out, os.Stderr))
			os.Exit(4)
		}()
		json.NewDecoder(in).Decode(&receipt{})
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "is killed":
		json.NewDecoder(os.Stdin).Decode(&batch{})
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "is killed with half an answer":
		json.NewDecoder(os.Stdin).Decode(&batch{})
		fmt.Print(`{"number":`)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "ends":
		json.NewDecoder(os.Stdin).Decode(&batch{})
	case "fails":
		os.Exit(3)
	case "talks nonsense":
		fmt.Println("hello")
		io.Copy(io.Discard, os.Stdin)
	case "answers another batch":
		json.NewDecoder(os.Stdin).Decode(&batch{})
		fmt.Println(`{"number":7}`)
		io.Copy(io.Discard, os.Stdin)
	case "refuses":
		json.NewDecoder(os.Stdin).Decode(&batch{})
		fmt.Println(`{"number":1,"error":"the disk is full"}`)
		io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(0)
}

// rig is a crew of one, whose first children behave badly.
func newRig(t *testing.T, how string, bad int64) (c *crew, db string, started *atomic.Int64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	db, started = filepath.Join(t.TempDir(), "points.db"), new(atomic.Int64)
	batches := make(chan batch, 1)
	batches <- batch{1, []sample{{"s1", Point{firstStep, 7}}}}
	close(batches)
	return &crew{size: 1, batches: batches, say: t.Logf, command: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, childRole, db)
		if started.Add(1) <= bad {
			cmd.Env = append(os.Environ(), badChild+"="+how)
		}
		return cmd
	}}, db, started
}

// A child that is killed is replaced, and what it had is stored once, whether it had
// stored it or not.
func TestCrewReplacesKilledChildren(t *testing.T) {
	for _, how := range []string{"stores and is killed", "is killed", "is killed with half an answer"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c, db, started := newRig(t, how, 2)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if err := c.run(ctx, stop); err != nil {
				t.Error(err)
			}
			if started.Load() != 3 || c.killed.Load() != 2 || c.stored.Load() != 1 {
				t.Errorf("%d children were started, %d killed, %d points stored", started.Load(), c.killed.Load(), c.stored.Load())
			}
			if stored := storedIn(t, db); len(stored) != 1 || len(stored["s1"]) != 1 {
				t.Errorf("stored is %v", stored)
			}
		})
	}
}

func TestCrewFailsWithChildrenThatFail(t *testing.T) {
	for how, want := range map[string]string{
		"ends":                  "it has ended",
		"fails":                 "exit status 3",
		"talks nonsense":        "it has ended",
		"answers another batch": "batch 1 was answered as batch 7",
		"refuses":               "batch 1: the disk is full",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c, _, started := newRig(t, how, 9)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			err := c.run(ctx, func() { t.Error("all is stored") })
			if err == nil || !strings.Contains(err.Error(), want) || ctx.Err() != nil || started.Load() != 1 {
				t.Errorf("got %v after %d children, want %s", err, started.Load(), want)
			}
		})
	}
}

func TestCrewThatCannotBeStarted(t *testing.T) {
	c, _, _ := newRig(t, "", 0)
	missing := filepath.Join(t.TempDir(), "missing")
	c.command = func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, missing) }
	if err := c.run(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v", err)
	}
}
