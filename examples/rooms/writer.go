package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/store/sqlite"
)

// writerRole is the first argument of a writer; the file is the second.
const writerRole = "writer"

// mostInHand bounds the messages that one writer works on. Those that are appended
// at once share a transaction.
const mostInHand = 64

// order is a message on its way to a writer, a line of JSON.
type order struct {
	Number uint64 `json:"number"` // of the line, chosen by who sends it
	Room   string `json:"room"`
	ID     string `json:"id"`
	Said
}

// receipt is what a writer answers, a line of JSON.
type receipt struct {
	Number uint64             `json:"number"`
	Token  materializer.Token `json:"token"`
	// Status is that of the answer over HTTP, and Error what went wrong, if
	// something did.
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"`
}

// runWriter appends what comes on stdin until that ends, as it does when the server
// ends, however it does.
func runWriter(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "rooms: a writer wants a file")
		return exitInput
	}
	if err := write(ctx, args[0], stdin, stdout); err != nil {
		fmt.Fprintf(stderr, "rooms: writer %d: %v\n", os.Getpid(), err)
		return exitFailed
	}
	return exitOK
}

func write(ctx context.Context, db string, stdin io.Reader, stdout io.Writer) (err error) {
	st, err := sqlite.Open(db, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	m, err := materializer.New(st, materializer.Config{})
	if err != nil {
		return err
	}
	rooms, err := register(m)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(mostInHand)
	var mu sync.Mutex // guards the following field
	receipts := json.NewEncoder(stdout)
	for orders := json.NewDecoder(stdin); ; {
		var o order
		if err := orders.Decode(&o); err != nil {
			if err == io.EOF {
				err = nil
			}
			return errors.Join(err, g.Wait())
		}
		g.Go(func() error {
			r := say(ctx, m, rooms, o)
			mu.Lock()
			defer mu.Unlock()
			return receipts.Encode(r)
		})
	}
}

// say appends a message. It may be sent again with the same id, to any writer.
func say(ctx context.Context, m *materializer.Materializer, rooms *rooms, o order) receipt {
	change := rooms.ChangeWith(o.Room, materializer.NewOperation[Said]{
		ID: o.ID, Meta: strconv.AppendInt(nil, int64(os.Getpid()), 10), Body: o.Said,
	})
	done, err := m.Append(ctx, change)
	if errors.Is(err, materializer.ErrInDoubt) {
		done, err = m.Append(ctx, change) // it has an id: what was stored is not stored again
	}
	r := receipt{Number: o.Number, Token: done.Token, Status: http.StatusOK}
	switch {
	case err == nil:
		return r
	case errors.Is(err, materializer.ErrIDReused):
		r.Status = http.StatusConflict
	case errors.Is(err, materializer.ErrInvalid):
		r.Status = http.StatusBadRequest
	case errors.Is(err, materializer.ErrForgotten):
		r.Status = http.StatusGone
	case errors.Is(err, materializer.ErrFull):
		r.Status = http.StatusInsufficientStorage
	default: // in doubt still, busy, or closed
		r.Status = http.StatusServiceUnavailable
	}
	r.Error = err.Error()
	return r
}
