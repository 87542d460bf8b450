package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // something failed, or a document differs
	exitInput  = 2 // the command line, or what it names, is wrong
)

// inputError is an error of what the user gave to the program.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// run is the program but for the process. When ctx ends it stops cleanly.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitInput
	}
	err = timeseries(ctx, o, stdout, stderr)
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
		if o.db != "" {
			err = errors.New("interrupted; the same command goes on from here")
		}
	}
	fmt.Fprintf(stderr, "timeseries: %v\n", err)
	if _, ok := errors.AsType[inputError](err); ok {
		return exitInput
	}
	return exitFailed
}

// timeseries stores points, has everything derived, and verifies it.
func timeseries(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	samples, err := o.samples()
	if err != nil {
		return err
	}
	path := o.db
	if path == "" {
		folder, made := os.MkdirTemp("", "timeseries-")
		if made != nil {
			return made
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
		path = filepath.Join(folder, "points.db")
	}
	log := newLogger(stderr)
	st, err := sqlite.Open(path, &sqlite.Options{Logger: log})
	if err != nil {
		return inputError{fmt.Errorf("database %s: %w", path, err)}
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	m, err := materializer.New(st, materializer.Config{Logger: log, Shared: true, Lease: lease}) // which only reads
	if err != nil {
		return err
	}
	c, err := register(m)
	if err != nil {
		return inputError{fmt.Errorf("database %s: %w", path, err)}
	}
	before, err := readPoints(ctx, m, &c, new(verifier))
	if err != nil {
		return err
	}

	p := &program{m: m, samples: samples, stderr: stderr}
	if p.crew, err = newCrew(path, o.processes, len(samples), p.say, stderr); err != nil {
		return err
	}
	if err := p.work(ctx); err != nil {
		return err
	}
	v := new(verifier)
	after, err := readPoints(ctx, m, &c, v)
	if err != nil {
		return err
	}
	p.say("%d points are added, %d of %d were stored before", count(after)-count(before), len(samples)-count(after)+count(before), len(samples))
	v.given(samples, after)
	if err := v.verify(ctx, &c, after); err != nil {
		return err
	}
	if o.plot != "" {
		if err := draw(ctx, &c, firstGauge(after), o.plot); err != nil {
			return err
		}
	}
	return v.conclude(stdout, stderr, count(after), p.crew.killed.Load())
}

// samples generates or reads what is to be stored, in the order of arrival.
func (o *options) samples() (samples []sample, err error) {
	if o.csv == "" {
		samples = generate(o.streams, o.points, o.seed)
	} else if samples, err = readCSV(o.csv); err != nil {
		return nil, inputError{err}
	}
	shuffle(samples, o.seed)
	return samples, nil
}

// newCrew makes a crew of children on a file, one of which is killed when about a third
// of the samples are stored.
func newCrew(db string, size, samples int, say func(string, ...any), stderr io.Writer) (*crew, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return &crew{size: size, killAt: 1 + samples/batchBound/3, say: say, command: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, childRole, db)
		cmd.Stderr = stderr
		return cmd
	}}, nil
}

// conclude tells what was verified, or what differs.
func (v *verifier) conclude(stdout, stderr io.Writer, points int, killed int64) error {
	for _, w := range v.wrong {
		fmt.Fprintln(stderr, w)
	}
	if v.differences > 0 {
		return fmt.Errorf("differences between what is stored and what must be: %d", v.differences)
	}
	_, err := fmt.Fprintf(stdout, "verified documents: %s; made of %d points; none differs; processes killed: %d\n",
		strings.Join(v.documents, ", "), points, killed)
	return err
}
