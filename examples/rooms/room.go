package main

import (
	"strconv"
	"time"

	"github.com/refold-go/refold/materializer"
)

// Said is an operation on a room: somebody says something.
type Said struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Message is what was said, with its place in the room.
type Message struct {
	Room string    `json:"room"`
	Seq  int64     `json:"seq"`
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Writer is the process that appended it, 0 if it did not say.
	Writer int `json:"writer"`
	Said
}

// Room is the view of a room: how much was said, and the end of it.
type Room struct {
	Messages int64     `json:"messages"`
	Latest   []Message `json:"latest"`
}

// latest is how many messages a view has. Who joins is shown as many.
const latest = 50

type (
	rooms     = materializer.Collection[Room, Said]
	operation = materializer.Operation[Said]
)

// register adds the rooms to a materializer, in the server and in each writer.
func register(m *materializer.Materializer) (*rooms, error) {
	return materializer.Register(m, materializer.Spec[Room, Said]{Name: "rooms", Version: 1, Fold: fold})
}

func fold(r Room, op operation) (Room, error) {
	r.Messages++
	r.Latest = append(r.Latest, message(op))
	if more := len(r.Latest) - latest; more > 0 {
		r.Latest = append(r.Latest[:0], r.Latest[more:]...)
	}
	return r, nil
}

func message(op operation) Message {
	writer, err := strconv.Atoi(string(op.Meta))
	if err != nil {
		writer = 0 // another program appended it
	}
	return Message{Room: op.Document, Seq: op.Seq, ID: op.ID, Time: op.Time, Writer: writer, Said: op.Body}
}
