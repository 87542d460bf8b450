//go:build unix

package rebuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/refold-go/refold/internal/chain"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// The environment of a child: the file, and the versions whose folds it has.
const envFile, envVersions = "REFOLD_REBUILD_FILE", "REFOLD_REBUILD_VERSIONS"

func TestMain(m *testing.M) {
	if path := os.Getenv(envFile); path != "" {
		if err := child(path, strings.Contains(os.Getenv(envVersions), "2")); err != nil {
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
func child(path string, both bool) error {
	st, err := sqlite.Open(path, nil)
	if err != nil {
		return err
	}
	m, err := materializer.New(st, materializer.Config{Workers: 2})
	if err != nil {
		return err
	}
	for version := 1; version <= 2 && (both || version == 1); version++ {
		if _, err := materializer.Register(m, spec(version)); err != nil {
			return err
		}
	}
	return m.Run(context.Background())
}

func start(t *testing.T, path, versions string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envFile+"="+path, envVersions+"="+versions)
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
