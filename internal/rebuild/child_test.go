//go:build unix

package rebuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refold-go/refold/internal/chain"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// The environment of a child: the file, the versions whose folds it has, and behind how
// many operations it says so and folds slowly for version 2; 0 is never.
const envFile, envVersions, envSlow = "REFOLD_REBUILD_FILE", "REFOLD_REBUILD_VERSIONS", "REFOLD_REBUILD_SLOW"

func TestMain(m *testing.M) {
	if path := os.Getenv(envFile); path != "" {
		if err := child(path, strings.Contains(os.Getenv(envVersions), "2"), number(envSlow, 0)); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

type link = chain.Link

// state is that of a chain, and the version that made it.
type state struct {
	chain.State
	By int
}

type chains = materializer.Collection[state, link]

func spec(version int) materializer.Spec[state, link] {
	return materializer.Spec[state, link]{
		Name: "chains", Version: version,
		Fold: func(s state, op materializer.Operation[link]) (state, error) {
			if version > 1 {
				op.Body.Text = "again " + op.Body.Text
			}
			if s.By != version && s.By != 0 {
				return s, materializer.Permanent(fmt.Errorf("version %d goes on with a view of version %d", version, s.By))
			}
			next, err := chain.Fold(s.State, op)
			return state{State: next, By: version}, err
		},
	}
}

// child makes views for as long as it lives.
func child(path string, both bool, slow int) error {
	st, err := sqlite.Open(path, nil)
	if err != nil {
		return err
	}
	m, err := materializer.New(st, materializer.Config{Workers: 2})
	if err != nil {
		return err
	}
	for version := 1; version <= 2 && (both || version == 1); version++ {
		s := spec(version)
		if version == 2 && slow > 0 {
			s.Fold = slowBehind(slow, s.Fold)
		}
		if _, err := materializer.Register(m, s); err != nil {
			return err
		}
	}
	return m.Run(context.Background())
}

type foldFunc = func(state, materializer.Operation[link]) (state, error)

// slowBehind is a fold that says on standard output when it was called so often, and is
// slow from then on: there is time to kill its process before all is folded.
func slowBehind(n int, fold foldFunc) foldFunc {
	var folded atomic.Int64
	return func(s state, op materializer.Operation[link]) (state, error) {
		if called := folded.Add(1); called > int64(n) {
			if called == int64(n)+1 {
				fmt.Println("slow")
			}
			time.Sleep(50 * time.Millisecond)
		}
		return fold(s, op)
	}
}

func start(t *testing.T, path, versions string) *exec.Cmd {
	t.Helper()
	cmd := command(path, versions, 0)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// startSlow starts one that is slow behind so many operations. The channel is closed when
// it has become slow, or has ended.
func startSlow(t *testing.T, path string, n int) (cmd *exec.Cmd, slow <-chan struct{}) {
	t.Helper()
	cmd = command(path, "1 2", n)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = out.Read(make([]byte, 1))
	}()
	return cmd, said
}

func command(path, versions string, slow int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envFile+"="+path, envVersions+"="+versions, fmt.Sprintf("%s=%d", envSlow, slow))
	cmd.Stderr = os.Stderr
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Errorf("a child has ended by itself: %v", err)
	}
	_ = cmd.Wait() // it says that it was killed
}
