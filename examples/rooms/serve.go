package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitInput  = 2
)

// grace is how long what is in hand may take when the program is told to stop.
const grace = 10 * time.Second

// run is the program but for the process. When ctx ends it stops cleanly.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitInput
	}
	if err := serve(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "rooms: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// serve runs materializer, writers and HTTP until ctx or one of them ends. Nobody is
// served before the materializer has the store. They stop in the opposite order:
// whoever answers goes before who is asked.
func serve(ctx context.Context, o options, stdout, stderr io.Writer) (err error) {
	log := newLogger(stderr)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	st, err := sqlite.Open(o.db, &sqlite.Options{Logger: log})
	if err != nil {
		return fmt.Errorf("database %s: %w", o.db, err)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	ready := make(chan struct{})
	m, err := materializer.New(st, materializer.Config{Logger: log, Ready: func() { close(ready) }})
	if err != nil {
		return err
	}
	rooms, err := register(m)
	if err != nil {
		return fmt.Errorf("database %s: %w", o.db, err)
	}
	writers := &crew{size: o.writers, log: log, jobs: make(chan *job), command: func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, writerRole, o.db)
		cmd.Stderr = stderr
		return cmd
	}}
	chat := &chat{m: m, rooms: rooms, names: o.rooms, send: writers.send}

	g, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { return m.Run(running) })
	g.Go(func() error {
		defer stop()
		select {
		case <-ready: // the store is ours
		case <-ctx.Done(): // another server has it, or it is over
			return nil
		}
		return open(ctx, o.addr, writers, chat.handler(), stdout)
	})
	return g.Wait()
}

// newLogger logs warnings for people, with their times.
func newLogger(stderr io.Writer) zerolog.Logger {
	console := zerolog.ConsoleWriter{Out: stderr, NoColor: true, TimeFormat: time.DateTime}
	return zerolog.New(console).Level(zerolog.WarnLevel).With().Timestamp().Logger()
}

// open runs writers and HTTP until ctx or one of them ends, and says where.
func open(ctx context.Context, addr string, writers *crew, handler http.Handler, stdout io.Writer) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	fmt.Fprintf(stdout, "rooms: http://%s/\n", listener.Addr())
	g, ctx := errgroup.WithContext(ctx)
	employed, dismiss := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { return writers.run(employed) })
	g.Go(func() error {
		defer dismiss()
		return serveHTTP(ctx, listener, handler)
	})
	return g.Wait()
}

// errStopping ends the requests that wait when the server stops.
var errStopping = errors.New("the server stops")

// serveHTTP serves until ctx ends. Then requests that wait are answered, and those in
// hand may end.
func serveHTTP(ctx context.Context, listener net.Listener, handler http.Handler) error {
	requests, stopping := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopping(nil)
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: 5 * time.Second,
		// No ReadTimeout: it would end requests that wait. A handler that reads a
		// body sets its own.
		WriteTimeout:   mostTimeout + 3*grace,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		stopping(errStopping)
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if err := server.Shutdown(patience); err != nil {
			return errors.Join(err, server.Close())
		}
		return nil
	})
	return g.Wait()
}
