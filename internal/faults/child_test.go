package faults

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

// childLock holds the write lock until its standard input ends.
func childLock(path string) error {
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=immediate&_busy_timeout=10000")
	if err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	fmt.Println("locked")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return errors.Join(tx.Rollback(), db.Close())
}

// childWork appends and folds until its standard input ends, and says on standard
// output what was acknowledged.
func childWork(path string) error {
	st, m, chains, err := open(path, nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var g sync.WaitGroup
	failed := make(chan error, 3)
	g.Go(func() { failed <- m.Run(ctx) })
	for a := range 2 {
		g.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				op := ack{fmt.Sprint("d", (a+i)%documents), fmt.Sprintf("%d-%d-%d", os.Getpid(), a, i)}
				if _, err := m.Append(context.WithoutCancel(ctx), chains.ChangeWith(op.document, link(op, "x"))); err != nil {
					failed <- err
					return
				}
				fmt.Println("ack", op.document, op.id) // one write, so that lines do not mix
			}
		})
	}
	g.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return st.Close()
}

// child is another process on the same file.
type child struct {
	*exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	acks chan ack // of "work"; closed at its end
}

func startChild(t *testing.T, role, path string) *child {
	t.Helper()
	return startChildWith(t, role, path, os.Stderr)
}

// startChildWith starts a child whose last words go to stderr.
func startChildWith(t *testing.T, role, path string, stderr io.Writer) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0]), acks: make(chan ack, 1<<16)}
	c.Env = append(os.Environ(), envRole+"="+role, envFile+"="+path)
	c.Stderr = stderr
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			c.Process.Kill()
			c.Wait()
		}
	})
	return c
}

// read passes on what the child acknowledges. A line that was cut was not
// acknowledged to anybody.
func (c *child) read() {
	defer close(c.acks)
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return
		}
		if f := strings.Fields(line); len(f) == 3 && f[0] == "ack" {
			c.acks <- ack{f[1], f[2]}
		}
	}
}

// end lets the child end well.
func (c *child) end(t *testing.T) {
	t.Helper()
	if err := c.in.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// lasting is how long a fault lasts that is told by its length.
func lasting() time.Duration {
	if testing.Short() {
		return time.Second
	}
	return 10 * time.Second
}
