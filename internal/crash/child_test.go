package crash

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refold-go/refold/internal/chain"
	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// The environment of a child: the file, what it does, and which life this is.
const (
	envFile = "REFOLD_CRASH_FILE"
	envRole = "REFOLD_CRASH_ROLE"
	envLife = "REFOLD_CRASH_LIFE"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" {
		if err := child(role, os.Getenv(envFile), os.Getenv(envLife)); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const documents, appenders = 20, 4

type (
	state = chain.State
	link  = chain.Link
)

func open(path string) (*sqlite.Store, *materializer.Materializer, *materializer.Collection[state, link], error) {
	return openWith(path, nil, chain.Fold)
}

// fold is that of the chains.
type fold = func(state, materializer.Operation[link]) (state, error)

// openWith opens a file with a fold, and a function that is called when Run has it.
func openWith(path string, ready func(), f fold) (*sqlite.Store, *materializer.Materializer, *materializer.Collection[state, link], error) {
	st, err := sqlite.Open(path, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	// So few bytes that a slice is some 3,000 operations.
	m, err := materializer.New(st, materializer.Config{Workers: 2, Bytes: 512 << 10, Ready: ready})
	if err != nil {
		return nil, nil, nil, err
	}
	chains, err := materializer.Register(m, materializer.Spec[state, link]{Name: "chains", Version: 1, Fold: f})
	return st, m, chains, err
}

// child appends for as long as it lives, and says on standard output what was
// acknowledged. As "both" it folds as well, and has the file for that before it appends.
func child(role, path, life string) error {
	ready, f := make(chan struct{}), chain.Fold
	if role == "fold" {
		f = slowBehind(perLife)
	}
	_, m, chains, err := openWith(path, func() { close(ready) }, f)
	if err != nil {
		return err
	}
	ctx := context.Background()
	failed := make(chan error, 1+appenders)
	if role == "both" || role == "fold" {
		go func() { failed <- m.Run(ctx) }()
	}
	if role == "fold" {
		return <-failed
	}
	if role == "both" {
		select {
		case <-ready:
		case err := <-failed:
			return err
		}
	}
	var out sync.Mutex
	for a := range appenders {
		go func() {
			for i := 0; ; i++ {
				document := strconv.Itoa((a*7 + i) % documents)
				id := fmt.Sprintf("%s-%d-%d-%d", role, os.Getpid(), a, i)
				_, err := m.Append(ctx, chains.ChangeWith(document, materializer.NewOperation[link]{ID: id, Body: link{Text: "life " + life + " " + id}}))
				if err != nil {
					failed <- err
					return
				}
				out.Lock()
				fmt.Printf("ack %s %s\n", document, id)
				out.Unlock()
			}
		}()
	}
	return <-failed
}

// process is a child as its parent sees it.
type process struct {
	cmd   *exec.Cmd
	first chan struct{} // closed at the first acknowledgement
	acks  []ack         // complete when read has returned
	read  sync.WaitGroup
}

type ack struct{ document, id string }

func start(t *testing.T, role, path string, life int) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), first: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), envRole+"="+role, envFile+"="+path, fmt.Sprintf("%s=%d", envLife, life))
	p.cmd.Stderr = os.Stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.read.Go(func() {
		lines := bufio.NewReader(stdout)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // a line that was cut was not acknowledged to anybody
			}
			if f := strings.Fields(line); len(f) == 3 && f[0] == "ack" {
				if p.acks = append(p.acks, ack{f[1], f[2]}); len(p.acks) == 1 {
					close(p.first)
				}
			}
		}
	})
	return p
}

// kill lets the child work for a while after its first acknowledgement, and
// kills it.
func (p *process) kill(t *testing.T, after time.Duration) {
	t.Helper()
	select {
	case <-p.first:
	case <-time.After(time.Minute):
		t.Error("the child has acknowledged nothing for a minute")
	}
	time.Sleep(after)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	p.read.Wait()
	if err := p.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the child ended by itself: %v", err)
	}
}
