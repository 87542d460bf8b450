package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
)

// program is what is going on.
type program struct {
	m       *materializer.Materializer
	crew    *crew
	samples []sample
	stderr  io.Writer
}

func (p *program) say(format string, args ...any) { fmt.Fprintf(p.stderr, format+"\n", args...) }

// work returns when all samples are stored and everything is derived, and no child is
// left.
func (p *program) work(ctx context.Context) error {
	start := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	working, stop := context.WithCancel(ctx)
	batches, appended := make(chan batch), make(chan struct{})
	p.crew.batches = batches
	g.Go(func() error { return p.crew.run(working, func() { close(appended) }) })
	g.Go(func() error {
		defer close(batches)
		number := 0
		for samples := range slices.Chunk(p.samples, batchBound) {
			number++
			select {
			case batches <- batch{number, samples}:
			case <-ctx.Done():
				return nil // somebody else says why
			}
		}
		return nil
	})
	g.Go(func() error {
		defer stop()
		select {
		case <-appended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		p.say("all points are stored after %.1f s", time.Since(start).Seconds())
		if err := p.m.Drain(ctx); err != nil {
			return err
		}
		p.say("everything is derived after %.1f s", time.Since(start).Seconds())
		return nil
	})
	g.Go(func() error {
		p.progress(working, appended)
		return nil
	})
	return g.Wait()
}

// progress tells how far the storing is, every few seconds.
func (p *program) progress(ctx context.Context, appended <-chan struct{}) {
	tick := time.NewTicker(3 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.say("%d of %d points are stored", p.crew.stored.Load(), len(p.samples))
		case <-appended:
			return
		case <-ctx.Done():
			return
		}
	}
}
