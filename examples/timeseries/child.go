package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// childRole is the first argument of a child; the file is the second.
const childRole = "child"

// lease is how long a child that was killed keeps others from what it had in hand.
const lease = time.Second

// batch is what a child is to append, a line of JSON.
type batch struct {
	Number  int      `json:"number"`
	Samples []sample `json:"samples"`
}

// receipt is what it answers.
type receipt struct {
	Number int `json:"number"` // of the batch
	// Error is why nothing is stored, or the batch is in doubt still.
	Error string `json:"error,omitempty"`
}

// runChild appends what comes on stdin and folds, until stdin ends, as it does when the
// parent ends, however it does.
func runChild(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "timeseries: a child wants a file")
		return exitInput
	}
	if err := fold(ctx, args[0], stdin, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "timeseries: process %d: %v\n", os.Getpid(), err)
		return exitFailed
	}
	return exitOK
}

func fold(ctx context.Context, db string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	log := newLogger(stderr)
	st, err := sqlite.Open(db, &sqlite.Options{Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	m, err := materializer.New(st, materializer.Config{Logger: log, Shared: true, Lease: lease})
	if err != nil {
		return err
	}
	c, err := register(m)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	g.Go(func() error { return m.Run(running) })
	g.Go(func() error {
		defer stop()
		return answer(ctx, &writer{m: m, c: c}, stdin, stdout)
	})
	return g.Wait()
}

// answer appends each batch and says so.
func answer(ctx context.Context, w *writer, stdin io.Reader, stdout io.Writer) error {
	batches, ended := make(chan batch), make(chan error, 1)
	go func() { // it ends with the input or with the process
		for in := json.NewDecoder(stdin); ; {
			var b batch
			if err := in.Decode(&b); err != nil {
				ended <- err
				return
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	for receipts := json.NewEncoder(stdout); ; {
		select {
		case b := <-batches:
			r := receipt{Number: b.Number}
			if err := w.append(ctx, b.Samples); err != nil {
				r.Error = err.Error()
			}
			if err := receipts.Encode(r); err != nil {
				return err
			}
		case err := <-ended:
			if err == io.EOF {
				return nil
			}
			return err
		case <-ctx.Done():
			return nil // Run says why
		}
	}
}

func newLogger(w io.Writer) zerolog.Logger {
	return zerolog.New(zerolog.ConsoleWriter{Out: w, NoColor: true}).Level(zerolog.ErrorLevel).With().Timestamp().Logger()
}
