package main

import (
	"context"
	"errors"
	"slices"

	"github.com/refold-go/refold/materializer"
)

// news is the answer of /sync.
type news struct {
	// Since covers all that the client has after this answer. The next request
	// gives it back.
	Since materializer.Token `json:"since"`
	// Reset tells that the messages are the latest of each room and no continuation:
	// the client has asked without since. Whoever has missed much is not reset, but
	// gets all of it in several answers; who does not want that begins again.
	Reset bool `json:"reset"`
	// Messages are those that the client has not got, each once, those of a room in
	// order of seq. If there are more than mostNews they are the first ones, and the
	// next request gets the next ones at once.
	Messages []Message `json:"messages"`
	// Rooms are the rooms of which there are messages, or all after a reset.
	Rooms []count `json:"rooms"`
}

// count is how many messages a room has: those of this answer at least.
type count struct {
	Room     string `json:"room"`
	Messages int64  `json:"messages"`
}

// mostNews bounds the messages of the log in an answer. After a reset, latest of
// each room come on top.
const mostNews = 500

// messages reads the first mostNews messages of the log after a token, up to another
// one, and the token to go on from: that of the last one if there may be more.
// Operations that no view has are passed over: those that were discarded, and those
// that cannot be decoded, at which their rooms are parked.
func (c *chat) messages(ctx context.Context, from, to materializer.Token) ([]Message, materializer.Token, error) {
	var messages []Message
	for logged, err := range c.m.Operations(ctx, from, to) {
		if err != nil {
			return nil, from, err
		}
		if logged.Key.Collection != c.rooms.Name() || !slices.Contains(c.names, logged.Key.ID) || logged.Discarded {
			continue
		}
		op, err := c.rooms.Decode(logged)
		if err != nil {
			continue
		}
		if messages = append(messages, message(op)); len(messages) == mostNews {
			return messages, logged.Token, nil
		}
	}
	return messages, to, nil
}

// begin answers with the latest of each room.
func (c *chat) begin(ctx context.Context) (news, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, grace, errSlow)
	defer cancel()
	for {
		least, err := c.m.End(ctx)
		if err != nil {
			return news{}, err
		}
		n, ok, err := c.beginFrom(ctx, least)
		if ok || err != nil {
			return n, err
		}
	}
}

// beginFrom answers with the latest of each room and no less than a token covers. It
// reports false if so much was said meanwhile that the answer would be too large.
func (c *chat) beginFrom(ctx context.Context, least materializer.Token) (news, bool, error) {
	n := news{Reset: true, Messages: []Message{}}
	var views []roomView
	for _, name := range c.names {
		view, err := c.read(ctx, name, least)
		if err != nil {
			return news{}, false, err
		}
		n.Messages = append(n.Messages, view.Latest...)
		views = append(views, view)
	}
	// The views may be ahead of the token, and of each other: each is brought up to
	// one end of the log. An earlier place would not do, because a view may be
	// beyond it.
	end, err := c.m.End(ctx)
	if err != nil {
		return news{}, false, err
	}
	said, to, err := c.messages(ctx, least, end)
	if err != nil || to != end {
		return news{}, false, err
	}
	for _, view := range views {
		behind := view.behind(said)
		n.Messages = append(n.Messages, behind...)
		n.Rooms = append(n.Rooms, view.count(behind))
	}
	n.Since = end
	return n, true, nil
}

// goOn answers with messages, and with how many there are in their rooms.
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
		n.Rooms = append(n.Rooms, view.count(view.behind(messages)))
	}
	return n, nil
}

// roomView is the view of a room as a client gets it.
type roomView struct {
	Name string `json:"room"`
	Room
	applied int64
}

// behind returns those messages of the room that the view does not contain.
func (v *roomView) behind(messages []Message) (behind []Message) {
	for _, m := range messages {
		if m.Room == v.Name && m.Seq > v.applied {
			behind = append(behind, m)
		}
	}
	return behind
}

func (v *roomView) count(behind []Message) count {
	return count{v.Name, v.Messages + int64(len(behind))}
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
