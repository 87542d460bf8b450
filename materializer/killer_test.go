//go:build unix

package materializer_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/refold-go/refold/materializer"
)

const killerPath, killerWay = "REFOLD_KILLER_PATH", "REFOLD_KILLER_WAY"

// killerSpec is plain, but for a word at which the process ends.
func killerSpec() textSpec {
	s := specOf(func(s text, op operation) (text, error) {
		if op.Body.Text == "!die" {
			switch os.Getenv(killerWay) {
			case "exit":
				os.Exit(3)
			case "kill":
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		return plain(s, op)
	})
	s.Retry.Attempts = 3
	return s
}

// TestKillerChild is the process that dies. It ends well when all documents but
// the parked ones are done.
func TestKillerChild(t *testing.T) {
	path := os.Getenv(killerPath)
	if path == "" {
		t.Skip("this is the child of TestFoldThatEndsTheProcess")
	}
	m, err := materializer.New(reopenSQLite(t, path), materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := materializer.Register(m, killerSpec())
	if err != nil {
		t.Fatal(err)
	}
	runToTheEnd(t, m)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := texts.Drain(ctx); err != nil {
		t.Log(err)
	}
}

// A fold that ends the process by os.Exit, or as a lack of memory does, is parked
// after as many careful starts as the collection has attempts; everybody else is
// done, and nobody else is blamed.
func TestFoldThatEndsTheProcess(t *testing.T) {
	for _, way := range []string{"exit", "kill"} {
		t.Run(way, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app.db")
			r := newRig(t, reopenSQLite(t, path), materializer.Config{}, killerSpec())
			ids := numbered("d", 40)
			for i, id := range ids {
				r.append(id, "x")
				if i == 20 {
					r.append("killer", "x", "!die", "y")
				}
			}
			died := 0
			for {
				cmd := exec.Command(os.Args[0], "-test.run=^TestKillerChild$", "-test.timeout=1m")
				cmd.Env = append(os.Environ(), killerPath+"="+path, killerWay+"="+way)
				out, err := cmd.CombinedOutput()
				if err == nil {
					break
				}
				if died++; died > 10 {
					t.Fatalf("still dying: %v\n%s", err, out)
				}
			}
			// The first one had not been warned.
			if died != 4 {
				t.Errorf("%d processes died, want 4", died)
			}
			r.wantParked("killer", 1, 3, processEnded)
			for _, id := range ids {
				r.wantView(id, "x", 1, 1)
				if f := r.load(id).Failure; f != nil {
					t.Errorf("%s is blamed: %+v", id, f)
				}
			}
		})
	}
}
