package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/refold-go/refold/materializer"
)

// news is the answer of /sync.
type news struct {
	// Since covers all that the client has after this answer. The next request
	// gives it back.
	// It is empty as long as nobody has said anything.
	Since materializer.Token `json:"since"`
	// Reset tells that the messages are the latest of each room and no continuation:
	// the client begins, or has missed so much that it has to begin again.
	Reset bool `json:"reset"`
	// Messages are those that the client has not got, each once, those of a room in
	// order of seq.
	Messages []Message `json:"messages"`
	// Rooms are the rooms of which there are messages, or all after a reset.
	Rooms []count `json:"rooms"`
}

// count is how many messages a room's view has: those of this answer at least.
type count struct {
	Room     string `json:"room"`
	Messages int64  `json:"messages"`
}

// mostNews bounds an answer. Who has missed more gets the latest of each room.
const mostNews = 500

var (
	errNothingNew = errors.New("nothing is new")
	errSlow       = errors.New("the views are not ready")
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
		if since.IsZero() && !end.IsZero() {
			return c.begin(ctx, end)
		}
		messages, err := c.messages(ctx, since, end)
		switch {
		case err != nil:
			return news{}, err
		case len(messages) > mostNews:
			return c.begin(ctx, end)
		case len(messages) > 0:
			return c.goOn(ctx, end, messages)
		}
		since = end // what came is of rooms that are not here
		if err := c.wait(waiting, change); context.Cause(waiting) == errNothingNew {
			return news{Since: q.since, Reset: q.since.IsZero(), Messages: []Message{}, Rooms: []count{}}, nil
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

// wait returns when a view has changed after the cursor.
func (c *chat) wait(ctx context.Context, cursor materializer.Cursor) error {
	for _, err := range c.rooms.Changes(ctx, cursor) {
		return err
	}
	return nil
}

// messages reads those of the log between two tokens, or some more than mostNews.
func (c *chat) messages(ctx context.Context, from, to materializer.Token) (messages []Message, err error) {
	for logged, err := range c.m.Operations(ctx, from, to) {
		if err != nil {
			return nil, err
		}
		if logged.Key.Collection != c.rooms.Name() || !slices.Contains(c.names, logged.Key.ID) {
			continue
		}
		op, err := c.rooms.Decode(logged)
		if err != nil {
			return nil, err
		}
		if messages = append(messages, message(op)); len(messages) > mostNews {
			break
		}
	}
	return messages, nil
}

// begin answers with the latest of each room and no less than a token covers.
func (c *chat) begin(ctx context.Context, least materializer.Token) (news, error) {
	n := news{Reset: true, Messages: []Message{}}
	applied := map[string]int64{}
	for _, name := range c.names {
		view, err := c.read(ctx, name, least)
		if err != nil {
			return news{}, err
		}
		n.Messages = append(n.Messages, view.Latest...)
		n.Rooms = append(n.Rooms, count{name, view.Messages})
		applied[name] = view.applied
	}
	// The views may be ahead of the token, and of each other: each is brought up to
	// one end of the log.
	end, err := c.m.End(ctx)
	if err != nil {
		return news{}, err
	}
	behind, err := c.messages(ctx, least, end)
	if err != nil {
		return news{}, err
	}
	if len(behind) > mostNews {
		return c.begin(ctx, end)
	}
	for _, message := range behind {
		if message.Seq > applied[message.Room] {
			n.Messages = append(n.Messages, message)
		}
	}
	n.Since = end
	return n, nil
}

// goOn answers with messages, and with the views of their rooms.
func (c *chat) goOn(ctx context.Context, end materializer.Token, messages []Message) (news, error) {
	n := news{Since: end, Messages: messages, Rooms: []count{}}
	for _, name := range c.names {
		if !slices.ContainsFunc(messages, func(m Message) bool { return m.Room == name }) {
			continue
		}
		view, err := c.read(ctx, name, end)
		if err != nil {
			return news{}, err
		}
		n.Rooms = append(n.Rooms, count{name, view.Messages})
	}
	return n, nil
}

// roomView is the view of a room as a client gets it.
type roomView struct {
	Name string `json:"room"`
	Room
	applied int64
}

// read returns the view of a room that contains what a token covers. A room in which
// nobody has said anything is empty.
func (c *chat) read(ctx context.Context, name string, least materializer.Token) (roomView, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, grace, errSlow)
	defer cancel()
	view, err := c.rooms.Get(ctx, name, materializer.AtLeast(least))
	if errors.Is(err, materializer.ErrNotFound) || errors.Is(err, materializer.ErrParked) {
		err = nil // the last good view, if there is one
	}
	if view.State.Latest == nil {
		view.State.Latest = []Message{}
	}
	return roomView{name, view.State, view.Applied}, err
}

// fail answers with what an error means to a client.
func fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, materializer.ErrForeignToken), errors.Is(err, materializer.ErrFutureToken):
		refuse(w, http.StatusGone, problem{err.Error(), "start over: ask /sync without since and atleast, and drop what you have"})
	default: // it stops, or is too slow, or the client has left
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, problem{err.Error(), "the same again later"})
	}
}
