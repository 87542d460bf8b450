package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// source is a log that is being read. When its context ends, its reader does
// too.
type source struct {
	io.Reader
	name    string // of the repository or file
	commits int    // how many there will be; 0 if that is unknown
	warning string // something that the user should know of the log
	stop    func() // ends a read, from any goroutine
	close   func() // releases everything; no git is left
}

// inputError is an error of what the user gave to the program.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

func badInput(format string, args ...any) error {
	return inputError{fmt.Errorf(format, args...)}
}

// openSource opens the log that the options name. count asks for the number of
// commits where it can be had.
func openSource(ctx context.Context, o options, stdin io.Reader, count bool) (src *source, err error) {
	ctx, stop := context.WithCancel(ctx)
	switch o.log {
	case "":
		src, err = openRepository(ctx, o.repository, count)
	case "-":
		src, err = openStdin(ctx, stdin)
	default:
		src, err = openFile(ctx, o.log)
	}
	if err != nil {
		stop()
		return nil, err
	}
	src.stop = stop
	return src, nil
}

func openFile(ctx context.Context, path string) (*source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, inputError{err}
	}
	stop := context.AfterFunc(ctx, func() { f.Close() }) // ends a read of a named pipe
	src := &source{name: path, close: func() { stop(); f.Close() }}
	return src, src.unpack(f)
}

// openStdin reads through a pipe, because a read of a terminal cannot be
// interrupted: its goroutine ends with the input or with the process.
func openStdin(ctx context.Context, stdin io.Reader) (*source, error) {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, stdin)
		w.CloseWithError(err)
	}()
	stop := context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })
	src := &source{name: "-", close: func() { stop(); r.Close() }}
	return src, src.unpack(r)
}

// unpack makes r the reader of src, through gzip if r starts so. On an error
// src is closed.
func (src *source) unpack(r io.Reader) (err error) {
	defer func() {
		if err != nil {
			src.close()
			err = inputError{err}
		}
	}()
	buffered := bufio.NewReaderSize(r, 64<<10)
	src.Reader = buffered
	start, err := buffered.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("log %s: %w", src.name, err)
	}
	if !bytes.Equal(start, []byte{0x1f, 0x8b}) {
		return nil
	}
	if src.Reader, err = gzip.NewReader(buffered); err != nil {
		return fmt.Errorf("log %s: it starts like gzip, but: %w", src.name, err)
	}
	return nil
}
