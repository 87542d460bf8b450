package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// crew keeps writers alive and gives them work.
type crew struct {
	// command makes the command of a writer.
	command func(ctx context.Context) *exec.Cmd
	size    int
	log     zerolog.Logger
	// jobs has no room: only a writer that lives and has a hand free takes one.
	jobs chan *job
}

// job is an order that a writer is to carry out.
type job struct {
	order
	done chan outcome // has room for one
}

// outcome is a receipt, or that the writer died before it gave one.
type outcome struct {
	receipt
	lost bool
}

var (
	errNoWriter = errors.New("no writer took the message, nothing was stored")
	errNoAnswer = errors.New("no writer has answered yet, it is unknown whether the message is stored")
)

// send hands an order to a writer, and again to another one if that dies. The
// operation id makes that harmless. Errors: errNoWriter and errNoAnswer, when ctx
// has ended.
func (c *crew) send(ctx context.Context, o order) (receipt, error) {
	for err := errNoWriter; ; err = errNoAnswer {
		j := &job{o, make(chan outcome, 1)}
		select {
		case c.jobs <- j:
		case <-ctx.Done():
			return receipt{}, err
		}
		select {
		case got := <-j.done:
			if !got.lost {
				return got.receipt, nil
			}
		case <-ctx.Done():
			return receipt{}, errNoAnswer
		}
	}
}

// run keeps all writers until ctx ends, and returns when they have ended.
func (c *crew) run(ctx context.Context) error {
	var g errgroup.Group
	for number := range c.size {
		g.Go(func() error {
			c.keep(ctx, number+1)
			return nil
		})
	}
	return g.Wait()
}

// keep starts one writer whenever there is none. One that ends soon, as when its
// file cannot be opened, is not started again at once.
func (c *crew) keep(ctx context.Context, number int) {
	const soon = time.Second
	for {
		started := time.Now()
		err := c.employ(ctx)
		if ctx.Err() != nil {
			return
		}
		c.log.Warn().Err(err).Int("writer", number).Msg("a writer ended and is started again")
		select {
		case <-time.After(soon - time.Since(started)):
		case <-ctx.Done():
			return
		}
	}
}

// employ starts a writer, gives it jobs until ctx ends, and returns when it has
// ended.
func (c *crew) employ(ctx context.Context) error {
	cmd := c.command(ctx)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	// A writer ends when its orders do, after it has carried out what it has.
	cmd.Cancel, cmd.WaitDelay = stdin.Close, grace
	if err := cmd.Start(); err != nil {
		return err
	}
	h := newHands()
	var g errgroup.Group
	g.Go(func() error { return h.receive(stdout) })
	h.give(ctx, c.jobs, stdin)
	if ctx.Err() == nil {
		cmd.Process.Kill() // if it is not dead, it talks nonsense
	}
	err = g.Wait()
	if waited := cmd.Wait(); waited != nil {
		err = fmt.Errorf("pid %d: %w", cmd.Process.Pid, waited)
	}
	for _, j := range h.held {
		j.done <- outcome{lost: true}
	}
	return err
}
