package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // something failed that -poison does not ask for, or -verify found differences
	exitInput  = 2 // the command line, or what it names, is wrong
)

// run is the program but for the process. When ctx ends it stops cleanly.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitInput
	}
	err = history(ctx, o, stdin, stdout, stderr)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
		if o.db != "" {
			err = errors.New("interrupted; the same command goes on from here")
		}
	}
	fmt.Fprintf(stderr, "githistory: %v\n", err)
	if _, ok := errors.AsType[inputError](err); ok {
		return exitInput
	}
	return exitFailed
}

// history reads a log into a database and reports on it.
func history(ctx context.Context, o options, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	src, err := openSource(ctx, o, stdin, !o.quiet && isTerminal(stderr))
	if err != nil {
		return err
	}
	defer src.close()
	if src.warning != "" {
		fmt.Fprintf(stderr, "githistory: warning: %s\n", src.warning)
	}

	path := o.db
	if path == "" {
		folder, made := os.MkdirTemp("", "githistory-")
		if made != nil {
			return made
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		path = filepath.Join(folder, "history.db")
	}
	log := zerolog.New(zerolog.ConsoleWriter{Out: stderr, NoColor: true}).Level(zerolog.WarnLevel).With().Timestamp().Logger()
	st, err := sqlite.Open(path, &sqlite.Options{Logger: log})
	if err != nil {
		return badInput("database %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	m, err := materializer.New(st, materializer.Config{Logger: log, Workers: o.workers})
	if err != nil {
		return err
	}
	bad := newPoison(o.poison)
	files, err := materializer.Register(m, materializer.Spec[File, Change]{Name: "files", Version: 1, Fold: bad.fold})
	if err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}

	made, err := derive(m, files)
	if err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}

	im := &importer{m: m, files: files, derived: made, writers: o.writers, limit: o.limit, poison: bad}
	if o.verify {
		im.verify = newVerifier(files)
	}
	var progress io.Writer = io.Discard
	if !o.quiet {
		progress = stderr
	}
	start := time.Now()
	if err := resume(ctx, files, bad, progress); err != nil {
		return err
	}
	if err := work(ctx, im, src, progress); err != nil {
		return err
	}
	return conclude(ctx, o, im, src.name, time.Since(start), stdout, stderr)
}

// work runs the materializer until all that the log has, and all that the
// database had, is in the views, but for those of parked files.
func work(ctx context.Context, im *importer, src *source, progress io.Writer) error {
	g, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	g.Go(func() error { return im.m.Run(running) })
	g.Go(func() error {
		showProgress(running, progress, src.commits, im.status)
		return nil
	})
	g.Go(func() error {
		defer stop()
		if err := im.run(ctx, src); err != nil {
			return err
		}
		if err := im.m.Drain(ctx); !errors.Is(err, materializer.ErrParked) {
			return err
		}
		return nil // all others are complete, and conclude tells of the parked
	})
	return g.Wait()
}

func (im *importer) status() status {
	stats := im.m.Stats()
	return status{
		commits:    im.commits.Load(),
		operations: im.added.Load() + im.duplicates.Load(),
		folded:     stats.Operations,
		runs:       stats.Runs,
	}
}
