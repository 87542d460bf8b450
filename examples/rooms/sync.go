package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/refold-go/refold/materializer"
)

// mostWaiting bounds how many clients wait at once. Each costs a goroutine, a
// connection, and a reading of the log for each message.
const mostWaiting = 1000

var (
	errNothingNew = errors.New("nothing is new")
	errSlow       = errors.New("the views are not ready")
	errCrowded    = errors.New("too many clients wait")
)

// sync answers when there is something new for the client, or its timeout is over.
func (c *chat) sync(w http.ResponseWriter, r *http.Request) {
	q, bad := readQuestion(r.URL.Query())
	if bad != nil {
		refuse(w, http.StatusBadRequest, *bad)
		return
	}
	found, err := c.news(r.Context(), q)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, found)
}

func (c *chat) news(ctx context.Context, q question) (news, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, q.timeout, errNothingNew)
	defer cancel()
	if err := c.ready(ctx, q.atLeast); err != nil {
		return news{}, err
	}
	if q.since.IsZero() {
		return c.begin(ctx)
	}
	for since := q.since; ; {
		// In this order: what is appended behind the end is folded behind the change.
		change, err := c.m.LastChange(ctx)
		if err != nil {
			return news{}, err
		}
		end, err := c.m.End(ctx)
		if err != nil {
			return news{}, err
		}
		messages, end, err := c.messages(ctx, since, end)
		switch {
		case err != nil:
			return news{}, err
		case len(messages) > 0:
			return c.goOn(ctx, end, messages)
		}
		since = end // what came is of rooms that are not here
		// Who does not want to wait any more is never one too many.
		if err := c.wait(waiting, change); context.Cause(waiting) == errNothingNew {
			return news{Since: since, Messages: []Message{}, Rooms: []count{}}, nil
		} else if err != nil {
			return news{}, err
		}
	}
}

// ready waits until the views contain what a token covers.
func (c *chat) ready(ctx context.Context, least materializer.Token) error {
	if least.IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, grace, errSlow)
	defer cancel()
	if err := c.rooms.Wait(ctx, least, c.names...); !errors.Is(err, materializer.ErrParked) {
		return err
	}
	return nil // what the good views have is all there is
}

// wait returns when a view has changed after the cursor. Error: errCrowded, at once.
func (c *chat) wait(ctx context.Context, cursor materializer.Cursor) error {
	defer c.waiting.Add(-1)
	if c.waiting.Add(1) > mostWaiting {
		return errCrowded
	}
	for _, err := range c.rooms.Changes(ctx, cursor) {
		return err
	}
	return nil
}

// fail answers with what an error means to a client.
func fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, materializer.ErrForeignToken), errors.Is(err, materializer.ErrFutureToken):
		refuse(w, http.StatusGone, problem{err.Error(), "start over: ask /sync without since and atleast, and drop what you have"})
	case errors.Is(err, errCrowded):
		// Who comes back every few seconds costs less than who waits.
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, problem{err.Error(), "the same again later, or with timeout=0"})
	default: // it stops, or is too slow, or the client has left
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, problem{err.Error(), "the same again later"})
	}
}
