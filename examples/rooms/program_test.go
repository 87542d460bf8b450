//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// program is the server in a process of its own.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	stderr bytes.Buffer // to be read after it has ended
}

func start(t *testing.T, db string, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, cmd: exec.Command(self, append([]string{"-addr", "127.0.0.1:0", "-db", db}, args...)...)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = time.Minute // writers have its stderr too
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.end(syscall.SIGKILL)
		t.Fatalf("no address: %v, stderr:\n%s", err, p.stderr.String())
	}
	p.url = strings.TrimSuffix(strings.TrimPrefix(line, "rooms: "), "/\n")
	return p
}

// end sends a signal, waits, and returns the exit status, -1 for a killed one.
func (p *program) end(how syscall.Signal) int {
	if p.cmd.ProcessState == nil {
		p.cmd.Process.Signal(how)
		p.cmd.Wait()
	}
	return p.cmd.ProcessState.ExitCode()
}

// get decodes an answer, which must be good.
func get(ctx context.Context, url string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return fetch(req, v)
}

func fetch(req *http.Request, v any) error {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", res.StatusCode, body)
	}
	return json.Unmarshal(body, v)
}

// post sends a message once.
func post(ctx context.Context, server, room, id, text string) error {
	body, err := json.Marshal(map[string]string{"id": id, "name": "Ada", "text": text})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/rooms/"+room+"/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return fetch(req, &struct{ Token string }{})
}

// client follows a server, whose address may change, from a token on.
type client struct {
	server   atomic.Value // its address, a string
	since    string
	messages []Message
}

// follow collects until there are n messages, with each request from where the last
// answer left off. What fails is asked again.
func (c *client) follow(ctx context.Context, n int) error {
	for len(c.messages) < n {
		var h heard
		err := get(ctx, c.server.Load().(string)+"/sync?timeout=20000&since="+url.QueryEscape(c.since), &h)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%d of %d messages came: %w", len(c.messages), n, context.Cause(ctx))
		case err != nil:
			time.Sleep(20 * time.Millisecond) // the server is away
			continue
		case h.Reset && c.since != "":
			return fmt.Errorf("reset after %d messages", len(c.messages))
		}
		c.messages, c.since = append(c.messages, h.Messages...), h.Since
	}
	return nil
}

// insist sends a message with the same id until it is acknowledged.
func (c *client) insist(ctx context.Context, room, id string) error {
	for {
		err := post(ctx, c.server.Load().(string), room, id, "x")
		if err == nil || strings.Contains(err.Error(), "status 4") {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		time.Sleep(20 * time.Millisecond) // the server is away
	}
}

// check checks that each id came once, and those of a room in order.
func (c *client) check(t *testing.T, ids []string) {
	t.Helper()
	var got []string
	seqs := map[string]int64{}
	for _, m := range c.messages {
		got = append(got, m.ID)
		if seqs[m.Room]++; m.Seq != seqs[m.Room] {
			t.Fatalf("message %d of %s comes as number %d", m.Seq, m.Room, seqs[m.Room])
		}
	}
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("%d messages came, %d different, %d were sent", len(got), len(slices.Compact(slices.Clone(got))), len(ids))
	}
}

// writers returns the processes that appended the messages, each once.
func (c *client) writers() []int {
	var pids []int
	for _, m := range c.messages {
		pids = append(pids, m.Writer)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// lastWriter returns the process that appended the last message of a room.
func lastWriter(ctx context.Context, server string) (int, error) {
	var h heard
	if err := get(ctx, server+"/sync?timeout=0", &h); err != nil {
		return 0, err
	}
	if len(h.Messages) == 0 {
		return 0, errors.New("there are no messages")
	}
	return h.Messages[len(h.Messages)-1].Writer, nil
}

// patient is for tests with processes.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Writers are killed with -9 while 200 messages are sent. Each that is acknowledged
// is there once, and the client that follows gets it once.
func TestKilledWriters(t *testing.T) {
	const n, senders, every = 200, 8, 25
	ctx := patient(t)
	p := start(t, filepath.Join(t.TempDir(), "chat.db"), "-writers", "3")
	c := &client{}
	c.server.Store(p.url)
	var mu sync.Mutex // guards the following field
	var ids []string
	var sent, kills atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for sender := range senders {
		g.Go(func() error {
			for i := range n / senders {
				id, room := fmt.Sprintf("%d-%d", sender, i), []string{"lobby", "workshop"}[i%2]
				if err := c.insist(ctx, room, id); err != nil {
					return err
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
				if sent.Add(1)%every != 0 {
					continue
				}
				pid, err := lastWriter(ctx, p.url)
				if err != nil {
					return err
				}
				if syscall.Kill(pid, syscall.SIGKILL) == nil {
					kills.Add(1)
				}
			}
			return nil
		})
	}
	g.Go(func() error { return c.follow(ctx, n) })
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("exit status %d", status)
	}
	c.check(t, ids)
	writers := len(c.writers())
	if kills.Load() == 0 || writers < 3 || !strings.Contains(p.stderr.String(), "killed") {
		t.Errorf("%d kills, %d writers, stderr:\n%s", kills.Load(), writers, p.stderr.String())
	}
	// A warning begins with its time.
	for line := range strings.Lines(p.stderr.String()) {
		if _, err := time.Parse(time.DateTime+" WRN", line[:min(len(line), len(time.DateTime)+4)]); err != nil {
			t.Errorf("%v in %q", err, line)
		}
	}
	t.Logf("%d messages by %d processes, %d kills", len(c.messages), writers, kills.Load())
}

// The server is killed with -9 and started again, twice, while messages are sent and
// a client follows. The client goes on from its token; who has no answer sends again.
func TestKilledServer(t *testing.T) {
	const n, senders = 120, 4
	ctx := patient(t)
	db := filepath.Join(t.TempDir(), "chat.db")
	p := start(t, db)
	c := &client{}
	c.server.Store(p.url)
	var ids []string
	acknowledged := make(chan string, n)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.follow(ctx, n) })
	for sender := range senders {
		g.Go(func() error {
			for i := range n / senders {
				id := fmt.Sprintf("%d-%d", sender, i)
				if err := c.insist(ctx, "lobby", id); err != nil {
					return err
				}
				acknowledged <- id
			}
			return nil
		})
	}
	for len(ids) < n {
		select {
		case id := <-acknowledged:
			ids = append(ids, id)
		case <-ctx.Done():
			t.Fatal(g.Wait())
		}
		if len(ids)%50 == 20 {
			writer, err := lastWriter(ctx, p.url)
			if err != nil {
				t.Fatal(err)
			}
			p.end(syscall.SIGKILL)
			gone(t, writer)
			p = start(t, db)
			c.server.Store(p.url)
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	c.check(t, ids)
	if writers := len(c.writers()); writers < 3 {
		t.Errorf("%d processes wrote", writers)
	}
}

// gone waits for the end of a process, which is not a child of this one.
func gone(t *testing.T, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for alive(pid) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("writer %d lives on without its server", pid)
		}
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

// The server is told to stop while a client waits. The client is told, and goes on
// with the next server from the same token.
func TestStop(t *testing.T) {
	ctx := patient(t)
	db := filepath.Join(t.TempDir(), "chat.db")
	p := start(t, db, "-rooms", "lobby", "-writers", "1")
	if err := post(ctx, p.url, "lobby", "1", "before"); err != nil {
		t.Fatal(err)
	}
	var first heard
	if err := get(ctx, p.url+"/sync?timeout=0", &first); err != nil {
		t.Fatal(err)
	}
	writer := first.Messages[0].Writer
	waited := make(chan error)
	go func() { waited <- get(ctx, p.url+"/sync?timeout=60000&since="+first.Since, &heard{}) }()
	select {
	case err := <-waited:
		t.Fatalf("there was nothing new, and it answers %v", err)
	case <-time.After(2 * time.Second): // it is on its way, most likely
	}
	started := time.Now()
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("exit status %d, stderr:\n%s", status, p.stderr.String())
	}
	if d := time.Since(started); d > 30*time.Second { // and not when the client's minute is over
		t.Errorf("it took %s", d)
	}
	if err := <-waited; err == nil || !strings.Contains(err.Error(), errStopping.Error()) {
		t.Errorf("who waited is told %v", err)
	}
	if alive(writer) {
		t.Error("a writer was left")
	}
	if p.stderr.Len() > 0 {
		t.Errorf("stderr:\n%s", p.stderr.String())
	}

	p = start(t, db, "-rooms", "lobby", "-writers", "1")
	if err := post(ctx, p.url, "lobby", "2", "after"); err != nil {
		t.Fatal(err)
	}
	var next heard
	if err := get(ctx, p.url+"/sync?timeout=60000&since="+first.Since, &next); err != nil {
		t.Fatal(err)
	}
	if next.Reset || next.texts() != "lobby:after" || next.Rooms[0].Messages != 2 {
		t.Errorf("from the token on there is %+v", next)
	}
}

// A second server on the same file neither serves nor says that it does, and does not
// disturb the first one.
func TestSecondServer(t *testing.T) {
	db := filepath.Join(t.TempDir(), "chat.db")
	p := start(t, db, "-writers", "1")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	second := exec.CommandContext(patient(t), p.cmd.Path, "-db", db, "-addr", addr)
	second.Env = p.cmd.Env
	var stdout, stderr bytes.Buffer
	second.Stdout, second.Stderr = &stdout, &stderr
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		second.Wait()
	}()
	for over := false; !over; {
		select {
		case <-ended:
			over = true
		case <-time.After(time.Millisecond):
			if conn, err := net.Dial("tcp", addr); err == nil {
				conn.Close()
				t.Error("it listens")
			}
		}
	}
	if status := second.ProcessState.ExitCode(); status != exitFailed || !strings.Contains(stderr.String(), "another materializer") {
		t.Errorf("exit status %d, stderr:\n%s", status, stderr.String())
	}
	if stdout.Len() > 0 || strings.Contains(stderr.String(), "writer") {
		t.Errorf("it prints %q, stderr:\n%s", stdout.String(), stderr.String())
	}
	if err := post(patient(t), p.url, "lobby", "1", "still here"); err != nil {
		t.Error(err)
	}
}
