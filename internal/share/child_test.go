//go:build unix

package share

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/refold-go/refold/internal/chain"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// The environment of a child: the file that is shared, and its own log.
const envFile, envLog = "REFOLD_SHARE_FILE", "REFOLD_SHARE_LOG"

// aLease is how long leases last.
const aLease = time.Second

func TestMain(m *testing.M) {
	if path := os.Getenv(envFile); path != "" {
		if err := child(path, os.Getenv(envLog)); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type (
	state = chain.State
	link  = chain.Link
)

// slowly is the fold that takes a while, so that a process which is stopped or killed is
// in the middle of one.
func slowly(c state, op materializer.Operation[link]) (state, error) {
	time.Sleep(200 * time.Microsecond)
	return chain.Fold(c, op)
}

type chains = materializer.Collection[state, link]

// child makes views for as long as it lives, and logs what it does.
func child(path, log string) error {
	st, err := sqlite.Open(path, nil)
	if err != nil {
		return err
	}
	w, err := newLogger(st, log)
	if err != nil {
		return err
	}
	m, err := materializer.New(w, materializer.Config{Shared: true, Lease: aLease, Workers: 2, Tracer: w})
	if err != nil {
		return err
	}
	if _, err := materializer.Register(m, materializer.Spec[state, link]{Name: "chains", Version: 1, Fold: slowly}); err != nil {
		return err
	}
	return m.Run(context.Background())
}

func start(t *testing.T, path, log string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envFile+"="+path, envLog+"="+log)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Errorf("a child has ended by itself: %v", err)
	}
	_ = cmd.Wait() // it says that it was killed
}
