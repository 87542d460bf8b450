package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// badWriter makes the test binary a writer that does what its value says.
const badWriter = "ROOMS_TEST_BAD_WRITER"

// writeBadly is a writer that never answers well.
func writeBadly(how, db string) {
	switch how {
	case "stores and dies": // as if it was killed before its answer
		in, out := io.Pipe()
		go write(context.Background(), db, os.Stdin, out)
		json.NewDecoder(in).Decode(&receipt{})
	case "dies with half an answer":
		json.NewDecoder(os.Stdin).Decode(&order{})
		fmt.Print(`{"number":1,"status":20`)
	case "talks nonsense":
		fmt.Println("hello")
		io.Copy(io.Discard, os.Stdin)
	case "answers what nobody asked":
		fmt.Println(`{"number":7,"status":200}`)
		json.NewDecoder(os.Stdin).Decode(&order{})
	}
	os.Exit(1)
}

// Whatever the first writers do, the message is stored, and once.
func TestCrewReplacesBadWriters(t *testing.T) {
	for _, how := range []string{"stores and dies", "dies with half an answer", "talks nonsense", "answers what nobody asked", "cannot be started"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			db := filepath.Join(t.TempDir(), "chat.db")
			var started atomic.Int64
			c := &crew{size: 1, log: zerolog.Nop(), jobs: make(chan *job), command: func(ctx context.Context) *exec.Cmd {
				cmd := exec.CommandContext(ctx, self, writerRole, db)
				switch bad := started.Add(1) <= 2; {
				case !bad:
					cmd.Env = append(os.Environ(), asProgram+"=1")
				case how == "cannot be started":
					cmd.Path = filepath.Join(t.TempDir(), "missing")
				default:
					cmd.Env = append(os.Environ(), badWriter+"="+how)
				}
				return cmd
			}}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			ended := make(chan error)
			go func() { ended <- c.run(ctx) }()
			got, err := c.send(ctx, order{Room: "lobby", ID: "1", Said: Said{"Ada", "x"}})
			if err != nil || got.Status != http.StatusOK || got.Token.IsZero() {
				t.Errorf("%+v, %v", got, err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if n := started.Load(); n != 3 {
				t.Errorf("%d writers were started", n)
			}
			if r := stored(t, db); r.Messages != 1 {
				t.Errorf("the room is %+v", r)
			}
		})
	}
}

// A writer carries out what it has when it is told to stop; what it has not got is
// not stored, and the sender knows which it is.
func TestCrewStops(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "chat.db")
	c := &crew{size: 2, log: zerolog.Nop(), jobs: make(chan *job), command: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, writerRole, db)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		return cmd
	}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.run(ctx) }()
	const n = 50
	outcomes := make(chan error, n)
	for i := range n {
		go func() {
			_, err := c.send(ctx, order{Room: "lobby", ID: fmt.Sprint(i), Said: Said{"Ada", "x"}})
			outcomes <- err
		}()
	}
	if err := <-outcomes; err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	acknowledged, unknown := int64(1), int64(0)
	for range n - 1 {
		switch err := <-outcomes; {
		case err == nil:
			acknowledged++
		case errors.Is(err, errNoAnswer):
			unknown++
		case !errors.Is(err, errNoWriter):
			t.Error(err)
		}
	}
	if r := stored(t, db); r.Messages < acknowledged || r.Messages > acknowledged+unknown {
		t.Errorf("%d are stored, %d were acknowledged, %d may be there", r.Messages, acknowledged, unknown)
	}
}

// stored reads the lobby from the file.
func stored(t *testing.T, db string) Room {
	t.Helper()
	st, err := sqlite.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := register(m)
	if err != nil {
		t.Fatal(err)
	}
	view, err := rooms.Latest(t.Context(), "lobby")
	if err != nil {
		t.Fatal(err)
	}
	return view.State
}
