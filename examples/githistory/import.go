package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
)

// importer reads a log and appends it.
type importer struct {
	m       *materializer.Materializer
	files   *materializer.Collection[File, Change]
	derived derived
	writers int
	limit   int       // commits; 0 for all
	poison  *poison   // nil for none
	verify  *verifier // nil if nobody wants to know

	commits    atomic.Int64 // read
	added      atomic.Int64 // operations
	duplicates atomic.Int64 // operations that were stored before
}

// mostAtOnce bounds the documents of one append: a commit of a hundred thousand
// files is appended in parts.
const mostAtOnce = 1000

// run returns when all of the log is stored: one goroutine reads, several
// append, each a commit at a time.
func (im *importer) run(ctx context.Context, src *source) error {
	g, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, src.stop)()
	queue := make(chan batch, im.writers)
	g.Go(func() error {
		defer close(queue)
		return im.read(ctx, src, queue)
	})
	for range im.writers {
		g.Go(func() error { return im.write(ctx, queue) })
	}
	return g.Wait()
}

// batch is what a commit changes.
type batch struct {
	commit    string
	documents []document
}

func (im *importer) read(ctx context.Context, src *source, queue chan<- batch) error {
	defer src.close() // with a limit, git has more to say
	n := 0
	for c, err := range Commits(src) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return badInput("log of %s: %w", src.name, err)
		}
		b := batch{c.Hash, documents(c)}
		if im.verify != nil {
			if err := im.verify.expect(b); err != nil {
				return err
			}
		}
		if err := send(ctx, queue, im.poison.pass(b)); err != nil {
			return err
		}
		im.commits.Add(1)
		if n++; n == im.limit {
			break
		}
	}
	if n == 0 {
		return badInput("log of %s: there are no commits in it", src.name)
	}
	return send(ctx, queue, im.poison.end())
}

func send(ctx context.Context, queue chan<- batch, batches []batch) error {
	for _, b := range batches {
		select {
		case queue <- b:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// write appends what comes. Two writers may change one document in another
// order than that of the log: the fold does not mind.
func (im *importer) write(ctx context.Context, queue <-chan batch) error {
	for b := range queue {
		for part := range slices.Chunk(b.documents, mostAtOnce) {
			if err := im.append(ctx, part); err != nil {
				return fmt.Errorf("append commit %s: %w", b.commit, err)
			}
		}
	}
	return nil
}

func (im *importer) append(ctx context.Context, documents []document) error {
	changes := make([]materializer.Change, len(documents))
	for i, d := range documents {
		changes[i] = im.files.ChangeWith(d.id, d.operations...)
	}
	done, err := im.m.Append(ctx, changes...)
	if errors.Is(err, materializer.ErrInDoubt) {
		// The operations have ids: what was stored is not stored again.
		done, err = im.m.Append(ctx, changes...)
	}
	if err != nil {
		return err
	}
	for _, d := range done.Documents {
		for _, op := range d.Operations {
			if op.Duplicate {
				im.duplicates.Add(1)
			} else {
				im.added.Add(1)
			}
		}
	}
	return nil
}
