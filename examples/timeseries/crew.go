package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// crew are the children, and what became of the batches.
type crew struct {
	// command makes the command of a child.
	command func(ctx context.Context) *exec.Cmd
	size    int
	batches <-chan batch // closed when there are no more
	// killAt is the number of the batch with which a child is killed, before it has
	// answered; 0 for none.
	killAt int
	say    func(format string, args ...any)

	killed atomic.Int64 // children, by whomever
	stored atomic.Int64 // points that are stored for certain
}

// run keeps all children until ctx ends or one of them fails, and returns when they
// have ended. appended is called when all batches are stored.
func (c *crew) run(ctx context.Context, appended func()) error {
	g, ctx := errgroup.WithContext(ctx)
	var left atomic.Int64
	left.Store(int64(c.size))
	for range c.size {
		g.Go(func() error {
			return c.keep(ctx, func() {
				if left.Add(-1) == 0 {
					appended()
				}
			})
		})
	}
	return g.Wait()
}

// keep keeps one child: when it is killed, by whomever, another one is started and
// given again what is in doubt. One that ends by itself is an error. idle is called
// once, when there are no more batches.
func (c *crew) keep(ctx context.Context, idle func()) error {
	var doubt *batch // given to a child that has not answered
	batches := c.batches
	next := func(child *child) error {
		if doubt == nil {
			select {
			case b, more := <-batches:
				if !more {
					batches = nil
					idle()
					return nil
				}
				doubt = &b
			case <-child.ended:
				return errEnded
			case <-ctx.Done():
				return errEnded
			}
		}
		if err := child.hand(*doubt, doubt.Number == c.killAt && c.killed.Load() == 0); err != nil {
			return err
		}
		c.stored.Add(int64(len(doubt.Samples)))
		doubt = nil
		return nil
	}
	for {
		err := employ(c.command(ctx), next)
		exit, _ := errors.AsType[*exec.ExitError](err)
		switch {
		case ctx.Err() != nil && (exit == nil || exit.Success()):
			return nil // it was told to end
		case exit == nil || exit.ExitCode() != -1 || ctx.Err() != nil:
			return fmt.Errorf("a process that is to append and fold: %w", err)
		}
		c.killed.Add(1)
		if doubt == nil {
			c.say("process %d: %v, it is started again", exit.Pid(), exit)
		} else {
			c.say("process %d: %v, it is started again and given batch %d again", exit.Pid(), exit, doubt.Number)
		}
	}
}
